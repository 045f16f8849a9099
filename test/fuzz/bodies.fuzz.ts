import { StatusError } from '../../src/apiserver/status.ts'
import { readYAML } from '../../src/apiserver/yaml.ts'
import { JSONSyntaxError, parseJSON, stringify } from '../../src/json.ts'
import { type FuzzTarget, must, unlessRefused } from './target.ts'

export const jsonBodies: FuzzTarget = {
  name: 'JSON bodies',
  corpus: [
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"__proto__":"x","constructor":"y"}}',
    '[1e999,0,9007199254740993,"\\ud800","\\u0000",true,null,{"a":1,"a":2}]',
    '['.repeat(50),
  ],
  run(input) {
    const read = unlessRefused(() => parseJSON(input.toString('utf8')), JSONSyntaxError)
    if (read === undefined) return
    must(
      stringify(parseJSON(stringify(read.value)).value) === stringify(read.value),
      'what was read is printed and read alike',
    )
    must(Object.getPrototypeOf({}) === Object.prototype && !('polluted' in {}), 'no prototype is changed')
  },
}

export const yamlBodies: FuzzTarget = {
  name: 'YAML bodies',
  corpus: [
    'a: &x [1, 2]\nb: *x\n<<: {c: 1}\n',
    'kind: ConfigMap\ndata:\n  a: |\n    text\n',
    '? [a]\n: !!binary aGk=\n',
  ],
  run(input) {
    unlessRefused(() => readYAML(input.toString('utf8')), StatusError, Error)
    must(!('polluted' in {}), 'no prototype is changed')
  },
}
