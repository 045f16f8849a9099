import { describe, expect, it } from 'vitest'
import { createDescriptions, scanDeclarations } from './descriptions.ts'

const source = `import { ObjectMeta } from "../meta/v1";
/**
 * A thing.
 *
 * Has a schedule such as "*\\/5".
 */
export interface Thing {
    /** The name { of it }. */
    name: string;
    undocumented?: string;
    /**
     * First line.
     *   - indented
     */
    readonly status?: ThingStatus;
    /** Labels by name. */
    labels?: {
        /** Not a field of Thing. */
        inner: string;
        [name: string]: string;
    };
    /** With an odd name. */
    "x-odd"?: boolean;
}
/** Text of a sort. */
export type Quantity = string;
export interface Bare {
    field: string;
}
`

describe('descriptions of built-in types', () => {
  it('are read from declarations', () => {
    const types = scanDeclarations(source)
    expect(types.get('Thing')?.text).toBe('A thing.\n\nHas a schedule such as "*/5".')
    expect([...(types.get('Thing')?.fields ?? [])]).toEqual([
      ['name', 'The name { of it }.'],
      ['status', 'First line.\n  - indented'],
      ['labels', 'Labels by name.'],
      ['x-odd', 'With an odd name.'],
    ])
    expect(types.get('Quantity')?.text).toBe('Text of a sort.')
    expect(types.get('Bare')).toEqual({ text: undefined, fields: new Map() })
  })

  it('are looked up by published name, each file read once', () => {
    const asked: string[] = []
    const descriptions = createDescriptions(path => {
      asked.push(path)
      return path === 'core/v1.d.ts' ? source : undefined
    })
    expect(descriptions.of('io.k8s.api.core.v1.Thing')?.fields.get('name')).toBe('The name { of it }.')
    expect(descriptions.of('io.k8s.api.core.v1.Nothing')).toBeUndefined()
    expect(descriptions.of('io.k8s.api.apps.v1.Thing')).toBeUndefined()
    expect(descriptions.of('dev.mooring.v1.Hold')).toBeUndefined()
    expect(asked).toEqual(['core/v1.d.ts', 'apps/v1.d.ts'])
  })

  it('come with the package', () => {
    const descriptions = createDescriptions()
    expect(descriptions.of('io.k8s.api.core.v1.Pod')?.fields.get('metadata')).toMatch(/^Standard object's metadata/)
    const meta = descriptions.of('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')
    expect(meta?.fields.get('creationTimestamp')).toMatch(/^CreationTimestamp is a timestamp/)
    expect(descriptions.of('io.k8s.apimachinery.pkg.api.resource.Quantity')?.text).toBeDefined()
  })
})
