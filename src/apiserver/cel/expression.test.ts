import { describe, expect, it } from 'vitest'
import { compileExpression, ExpressionError } from './expression.ts'

const evaluate = (source: string, bindings: Record<string, unknown> = {}): unknown =>
  compileExpression(source, Object.keys(bindings)).evaluate(bindings)

describe('a match condition', () => {
  const object = { metadata: { name: 'a', labels: { app: 'x' } }, spec: { replicas: 3 } }

  it('reads the object, the old one and the request', () => {
    const variables = {
      object,
      oldObject: null,
      request: { operation: 'CREATE', userInfo: { username: 'system:node:a' } },
    }
    expect(evaluate('object.spec.replicas > 2 && oldObject == null', variables)).toBe(true)
    expect(evaluate("request.userInfo.username.startsWith('system:node:')", variables)).toBe(true)
    expect(evaluate("has(object.metadata.labels) && object.metadata.labels['app'] == 'x'", variables)).toBe(true)
    expect(evaluate('object.?metadata.?annotations.hasValue()', variables)).toBe(false)
  })

  it('fails when it asks for what is not there', () => {
    expect(() => evaluate('object.spec.nothing == 1', { object })).toThrow('no such key: nothing')
  })

  it('is refused when it cannot be compiled', () => {
    expect(() => compileExpression('object.a ==', ['object'])).toThrow(ExpressionError)
    expect(() => compileExpression('objekt.a == 1', ['object'])).toThrow(
      "compilation failed: ERROR: <input>:1:1: undeclared reference to 'objekt' (in container '')",
    )
  })

  it('asks the authorizer', () => {
    const asked: unknown[] = []
    const expression = compileExpression(
      "authorizer.group('').resource('pods').namespace('n').check('get').allowed()",
      ['authorizer'],
    )
    const authorize = (check: unknown) => {
      asked.push(check)
      return { allowed: true, reason: '' }
    }
    expect(expression.evaluate({}, authorize)).toBe(true)
    expect(expression.evaluate({})).toBe(false)
    expect(asked).toEqual([
      { group: '', resource: 'pods', subresource: '', namespace: 'n', name: '', path: '', verb: 'get' },
    ])
  })

  it('is stopped when it costs too much', () => {
    const items = Array.from({ length: 2_000 }, (_, i) => i)
    expect(() => evaluate('items.all(a, items.all(b, a < 9999))', { items })).toThrow('actual cost limit exceeded')
  })

  it('pays for an error in each turn of a loop', () => {
    const items = Array.from({ length: 20_000 }, () => ({}))
    expect(() => evaluate('items.all(a, a.b == 1)', { items })).toThrow('actual cost limit exceeded')
    expect(() => evaluate('items.all(a, a)', { items })).toThrow('actual cost limit exceeded')
    expect(() => evaluate('items.all(a, a.b == 1 || true)', { items })).toThrow('actual cost limit exceeded')
    expect(() => evaluate('items.all(a, a.b == 1)', { items: items.slice(0, 1_000) })).toThrow('no such key: b')
  })
})

describe('the libraries agree with cel-go', () => {
  // Each of these is true on kube-apiserver 1.35.4.
  it.each([
    "'heällo'.indexOf('l') == 3",
    "'hello'.indexOf('l', 9) == -1",
    "'hello hello'.lastIndexOf('hello', 5) == 0",
    "'héllo'.substring(1, 3) == 'él'",
    "'TacoCÆt'.lowerAscii() == 'tacocÆt'",
    "'hello'.replace('', '_') == '_h_e_l_l_o_'",
    "'hello hello'.replace('he', 'we', 1) == 'wello hello'",
    "'a b c'.split(' ', 2) == ['a', 'b c']",
    "'%d %s %.2f'.format([1, 'a', 1.25]) == '1 a 1.25'",
    "'%x %X %b %o'.format([255, 255, 5, 8]) == 'ff FF 101 10'",
    "'%e'.format([1234.5]) == '1.234500×10⁰³'",
    "'1 2 3'.findAll('[0-9]', 2) == ['1', '2']",
    "'ABC'.matches('(?i)abc')",
    "!'a\\nb'.matches('a.b')",
    "[duration('1m'), duration('2m')].sum() == duration('3m')",
    "url('https://[::1]:80/').getHostname() == '::1'",
    "url('https://example.com/path?k=a&k=b').getQuery()['k'] == ['a', 'b']",
    "quantity('1.5').add(quantity('500m')) == quantity('2')",
    "!isQuantity('1,3G') && isQuantity('1e3') && isQuantity('.5')",
    "!isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
    "ip('ff02::1').isLinkLocalMulticast() && !ip('255.255.255.255').isGlobalUnicast()",
    "!ip.isCanonical('2001:DB8::ABCD') && string(ip('2001:DB8::ABCD')) == '2001:db8::abcd'",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').prefixLength() == 8",
    "!cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/7')) && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
    "!format.dns1123LabelPrefix().validate('abc-').hasValue() && !format.named('nope').hasValue()",
    "semver('v01.2', true) == semver('1.2.0') && semver('1.0.0-alpha').isLessThan(semver('1.0.0'))",
    'sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])',
    '[1, 2].transformList(i, v, v > 1, v * 2) == [4]',
    "{'a': 1}.transformMapEntry(k, v, {k + 'x': v})['ax'] == 1",
    "[{'a': 2}, {'a': 1}].sortBy(x, x.a)[0].a == 1",
    '[1, 2, 3].existsOne(i, v, v == i + 2) == false',
    'optional.of(1).optMap(x, x + 1).value() == 2 && !optional.ofNonZeroValue(0).hasValue()',
    "{'a': 1}[?'b'].orValue(2) == 2",
    "timestamp('2020-01-02T03:04:05Z').getHours('America/New_York') == 22",
    "string(duration('1h')) == '3600s' && int(timestamp('1970-01-01T00:01:00Z')) == 60",
    '-7 / 2 == -3 && 1 < 1.5',
  ])('%s', source => {
    expect(evaluate(source)).toBe(true)
  })

  it.each([
    ["'a'.matches('(')", 'error parsing regexp'],
    ['1 / 0 == 1', 'division by zero'],
    ['9223372036854775807 + 1 > 0', 'integer overflow'],
    ["'hello'.substring(3, 1) == ''", 'invalid substring range. start: 3, end: 1'],
    ["quantity('500m').asInteger() == 1", 'cannot convert value to integer'],
  ])('%s fails', (source, why) => {
    expect(() => evaluate(source)).toThrow(why)
  })
})

describe('hostile expressions', () => {
  it('match in linear time', () => {
    expect(evaluate("text.matches('^(a+)+$')", { text: `${'a'.repeat(5_000)}!` })).toBe(false)
  })

  it('cannot make a text that fills the memory', () => {
    const text = 'a'.repeat(100_000)
    expect(() => evaluate("text.replace('', text)", { text })).toThrow('actual cost limit exceeded')
  })

  it('see no prototype', () => {
    expect(evaluate('has(object.constructor) || has(object.__proto__x)', { object: {} })).toBe(false)
    expect(evaluate("'__proto__' in object", { object: JSON.parse('{"__proto__": 1}') as unknown })).toBe(true)
  })
})
