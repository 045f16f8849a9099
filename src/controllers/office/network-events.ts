// network.events - the author of a NetworkAttachmentDefinition that Mooring cannot use is told why, by an event on it.
//
// Reads:   what the attachment comes to.
// Writes:  nothing but events; one for each sentence, and none for networks of other CNI plugins.

import type { Recorder } from '../../kube/events.ts'
import { namespaceOfKey } from '../../kube/object.ts'
import type { Domain } from '../../runtime/domain.ts'
import { defineReconciler, done } from '../../runtime/reconciler.ts'
import type { Networks } from './networks.ts'
import type { Views } from './views.ts'

export function addNetworkEvents(
  domain: Domain,
  networks: Networks,
  { attachments }: Pick<Views, 'attachments'>,
  recorder: Pick<Recorder, 'event'>,
): void {
  /** The uid and the sentence, by key: as many as there are attachments that are refused. */
  const told = new Map<string, string>()
  const events = domain.addReconciler(
    defineReconciler({
      name: 'network.events',
      async reconcile(key) {
        const about = attachments.get(key)
        const judged = networks.attachment(key)
        if (about === undefined || judged === undefined || !('refused' in judged)) {
          told.delete(key)
          return done()
        }
        const { reason, message } = judged.refused
        const text = `${about.metadata.uid} ${message}`
        if (told.get(key) === text) return done()
        told.set(key, text)
        recorder.event({ about, type: 'Warning', reason, action: 'Read', note: message })
        return done()
      },
      groupOf: key => [namespaceOfKey(key)],
    }),
  )
  networks.subscribe(({ attachments: keys }) => {
    for (const key of keys) events.mark(key)
  })
}
