// The zero value of a scalar: Go has no other way to say that none was set.

import type { ValueType } from './message-types.ts'

/** Undefined for types without such a zero value. */
export function zeroScalar(type: ValueType): '' | 0 | false | '0' | undefined {
  switch (type.is) {
    case 'string':
      return ''
    case 'integer':
    case 'double':
    case 'intOrString':
      return 0
    case 'boolean':
      return false
    case 'quantity':
      return '0'
    default:
      return undefined
  }
}
