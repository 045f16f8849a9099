// One OpenAPI v2 document for everything that is served. Newer clients read version 3; older ones, and many tools, know
// only this one.

import type { ServedKind } from '../kinds/kind.ts'
import type { Schema } from '../schema/schema.ts'
import { byPath, listSchemaName, type Operation, type Parameter } from './operations.ts'
import { publishBuiltin, publishCustomList, publishCustomV2, reachable, toV2 } from './published-schema.ts'
import { allOperations, type Source, schemaNames } from './v3.ts'

export interface SwaggerPart {
  readonly paths: Readonly<Record<string, object>>
  readonly definitions: Readonly<Record<string, Schema>>
}

/** What one group version adds; `mergeSwagger` joins the parts. */
export function toSwaggerPart(source: Source): SwaggerPart {
  const operations = allOperations(source)
  const paths: Record<string, object> = {}
  for (const { path, operations: there, shared } of byPath(operations)) {
    paths[path] = {
      ...Object.fromEntries(there.map(one => [one.method, toOperation(one, shared)])),
      ...(shared.length > 0 && { parameters: shared.map(toParameter) }),
    }
  }
  return { paths, definitions: definitionsOf(source, operations) }
}

export function mergeSwagger(parts: readonly SwaggerPart[]) {
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: '1.35' },
    paths: Object.assign({}, ...parts.map(part => part.paths)) as SwaggerPart['paths'],
    definitions: Object.assign({}, ...parts.map(part => part.definitions)) as SwaggerPart['definitions'],
    securityDefinitions: {
      BearerToken: { description: 'Bearer Token authentication', type: 'apiKey', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  }
}

function definitionsOf(source: Source, operations: readonly Operation[]): Record<string, Schema> {
  const { kinds, definitions, descriptions } = source
  const own: Record<string, Schema> = {}
  for (const kind of kinds) {
    if (!kind.isCustom) continue
    own[kind.schemaName] = publishCustomV2(kind, descriptions)
    own[listSchemaName(kind)] = publishCustomList(kind, descriptions)
  }
  const published: Record<string, Schema> = {}
  for (const name of reachable(schemaNames(operations), { ...definitions, ...own })) {
    const builtin = definitions[name]
    const schema = own[name] ?? (builtin && publishBuiltin(name, builtin, descriptions))
    if (schema !== undefined) published[name] = toV2(name, schema)
  }
  return published
}

function toOperation(operation: Operation, shared: readonly Parameter[]) {
  const { body } = operation
  const parameters = [
    ...(body === undefined ? [] : [toBody(body)]),
    ...operation.parameters.filter(p => !shared.some(({ name }) => name === p.name)).map(toParameter),
  ]
  return {
    description: operation.description,
    consumes: body?.types ?? ['*/*'],
    produces: operation.answerTypes,
    schemes: ['https'],
    tags: [operation.tag],
    operationId: operation.id,
    ...(parameters.length > 0 && { parameters }),
    responses: {
      ...Object.fromEntries(operation.answers.map(({ code, text, schemaName }) => [code, toAnswer(text, schemaName)])),
      401: { description: 'Unauthorized' },
    },
    ...(operation.action !== '' && { 'x-kubernetes-action': operation.action }),
    ...(operation.gvk && { 'x-kubernetes-group-version-kind': operation.gvk }),
  }
}

const toAnswer = (description: string, schemaName: string) => ({ description, schema: toRef(schemaName) })

const toRef = (schemaName: string) =>
  schemaName === 'string' ? { type: 'string' } : { $ref: `#/definitions/${schemaName}` }

function toBody({ schemaName, required }: NonNullable<Operation['body']>) {
  return { name: 'body', in: 'body', ...(required && { required: true }), schema: toRef(schemaName) }
}

function toParameter({ name, in: place, type, description }: Parameter) {
  return { uniqueItems: true, type, description, name, in: place, ...(place === 'path' && { required: true }) }
}

/** Whether two lists hold the same kinds, so that what was made for one serves the other. */
export function isSameKinds(a: readonly ServedKind[], b: readonly ServedKind[]): boolean {
  return a.length === b.length && a.every((kind, i) => kind === b[i])
}
