// One OpenAPI v3 document per group version: its paths, and the schemas they lead to.

import type { ServedKind } from '../kinds/kind.ts'
import type { Definitions, Schema } from '../schema/schema.ts'
import type { Descriptions } from './descriptions.ts'
import {
  byPath,
  discoveryOperation,
  listSchemaName,
  type Operation,
  operationsOf,
  type Parameter,
} from './operations.ts'
import { publishBuiltin, publishCustom, publishCustomList, reachable } from './published-schema.ts'

export interface Source {
  readonly group: string
  readonly version: string
  /** In the order of their plural names. */
  readonly kinds: readonly ServedKind[]
  /** Built-in types, which custom kinds refer to as well. */
  readonly definitions: Definitions
  readonly descriptions: Descriptions
}

export function toV3(source: Source) {
  const operations = allOperations(source)
  const isCustom = source.kinds.every(kind => kind.isCustom)
  const paths: Record<string, object> = {}
  for (const { path, operations: there, shared } of byPath(operations)) {
    paths[path] = {
      ...Object.fromEntries(there.map(one => [one.method, toOperation(one, shared)])),
      ...(shared.length > 0 && { parameters: shared.map(toParameter) }),
    }
  }
  return {
    openapi: '3.0.0',
    info: isCustom ? { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' } : { title: 'Kubernetes', version: '1.35' },
    paths,
    components: {
      schemas: schemasOf(source, operations),
      ...(!isCustom && {
        securitySchemes: {
          BearerToken: {
            type: 'apiKey',
            description: 'Bearer Token authentication',
            name: 'authorization',
            in: 'header',
          },
        },
      }),
    },
  }
}

export function allOperations({ group, version, kinds, definitions }: Source): Operation[] {
  const operations = operationsOf(kinds, definitions)
  return kinds.every(kind => kind.isCustom) ? operations : [discoveryOperation(group, version), ...operations]
}

/** The schemas of a group version's own custom kinds, then all built-in ones that anything refers to. */
function schemasOf(source: Source, operations: readonly Operation[]): Record<string, Schema> {
  const { kinds, definitions, descriptions } = source
  const own: Record<string, Schema> = {}
  for (const kind of kinds) {
    if (!kind.isCustom) continue
    own[kind.schemaName] = publishCustom(kind, descriptions)
    own[listSchemaName(kind)] = publishCustomList(kind, descriptions)
  }
  const schemas: Record<string, Schema> = {}
  for (const name of reachable(schemaNames(operations), { ...definitions, ...own })) {
    const builtin = definitions[name]
    const schema = own[name] ?? (builtin && publishBuiltin(name, builtin, descriptions))
    if (schema !== undefined) schemas[name] = schema
  }
  return schemas
}

export function schemaNames(operations: readonly Operation[]): Set<string> {
  const names = new Set<string>()
  for (const { body, answers } of operations) {
    if (body !== undefined) names.add(body.schemaName)
    for (const answer of answers) names.add(answer.schemaName)
  }
  return names
}

function toOperation(operation: Operation, shared: readonly Parameter[]) {
  const parameters = operation.parameters.filter(p => !shared.some(({ name }) => name === p.name))
  const { body } = operation
  return {
    tags: [operation.tag],
    description: operation.description,
    operationId: operation.id,
    ...(parameters.length > 0 && { parameters: parameters.map(toParameter) }),
    ...(body && {
      requestBody: { content: toContent(body.types, body.schemaName), ...(body.required && { required: true }) },
    }),
    responses: {
      ...Object.fromEntries(
        operation.answers.map(({ code, text, schemaName }) => [
          code,
          {
            description: text,
            content: toContent(schemaName === 'string' ? ['text/plain'] : operation.answerTypes, schemaName),
          },
        ]),
      ),
      401: { description: 'Unauthorized' },
    },
    ...(operation.action !== '' && { 'x-kubernetes-action': operation.action }),
    ...(operation.gvk && { 'x-kubernetes-group-version-kind': operation.gvk }),
  }
}

function toContent(types: readonly string[], schemaName: string) {
  const schema = schemaName === 'string' ? { type: 'string' } : { $ref: `#/components/schemas/${schemaName}` }
  return Object.fromEntries(types.map(type => [type, { schema }]))
}

function toParameter({ name, in: place, type, description }: Parameter) {
  return {
    name,
    in: place,
    description,
    ...(place === 'path' && { required: true }),
    schema: { type, uniqueItems: true },
  }
}
