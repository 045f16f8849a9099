// The parts of the CEL engine that its public types do not describe: the shape of its syntax tree and of the objects a
// macro is handed. All uses of them go through here, so a new version of the engine is checked in one place.

import type { ASTNode } from '@marcbachmann/cel-js'

export interface Type {
  readonly kind: string
  readonly name: string
  readonly keyType?: Type
  readonly valueType?: Type
}

export interface Scope {
  forkWithVariable(name: string, type: Type): Scope
  reuse(parent: Scope): Scope
  setIterValue(value: unknown, evaluator: Evaluator): Scope
}

export interface Checker {
  check(node: Tree, scope: Scope): Type
  getType(name: string): Type
  readonly registry: {
    getListType(of: Type): Type
    getMapType(key: Type, value: Type): Type
    getOptionalType(of: Type): Type
  }
  createError(code: string, message: string, node: Tree): Error
}

export interface Evaluator {
  run(node: Tree, scope: Scope): unknown
}

type Evaluate = (evaluator: Evaluator, node: unknown, scope: Scope) => unknown

export interface Macro {
  readonly args?: readonly Tree[]
  typeCheck(checker: Checker, macro: Macro, scope: Scope): Type
  evaluate: Evaluate
}

/** A node of the syntax tree; `args` depends on `op`. */
export interface Tree {
  readonly op: string
  args: unknown
  readonly pos: number
  readonly start: number
  readonly end: number
  readonly input: string
  readonly meta: { alternate?: Tree; macro?: Macro & Record<string, unknown>; evaluate: Evaluate }
  readonly checkedType?: Type
  evaluate: Evaluate
  handle?: (...args: unknown[]) => unknown
  setMeta(key: string, value: unknown): Tree
}

export interface MacroCall {
  readonly ast: Tree
  readonly args: readonly Tree[]
  readonly receiver: Tree
}

export function toTree(node: ASTNode): Tree {
  return node as unknown as Tree
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && 'op' in value && 'meta' in value
}

/** The nodes written directly below a node, in order. */
export function childrenOf(node: Tree): Tree[] {
  return collect(node.args)
}

function collect(args: unknown): Tree[] {
  if (isTree(args)) return [args]
  return Array.isArray(args) ? args.flatMap(collect) : []
}

/** Visits every node of the expression as written, parents first. */
export function visit(node: Tree, seen: (node: Tree) => void): void {
  seen(node)
  for (const child of childrenOf(node)) visit(child, seen)
}
