// What a desk is: one value in the table of `desks.ts`. How to write one: docs/how-to/write-a-desk.md.
//
//   see    is called whichever desks are on: caches of the kinds that can show an address in use, and what they show
//   open   is called if the desk is on: its reconcilers, and what wakes them
//
// A desk knows the office (`office/`), and no other desk.

import type { Domain } from '../runtime/domain.ts'
import type { Component } from './component.ts'
import type { Office } from './office/office.ts'

export interface Desk extends Component {
  see(office: Office): DeskInView
}

export interface DeskInView {
  /** What its webhooks are decided on; undefined until the caches that it asks have been filled. */
  facts(): unknown
  /** Passes begin when the domain works. */
  open(domain: Domain): void
}
