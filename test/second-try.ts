// A test that fails in CI is tried once more, and named: a machine that stood still for a second must not hide what the other ten
// thousand tests have to say. `.ci/run` repeats the names at its end. Each is a fault to be looked for, of the product or of the test.
// A developer's run tries nothing twice.

export const retry = process.env.CI === undefined ? 0 : 1

export const secondTry = 'passed only on its second try: '
