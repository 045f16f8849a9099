// Wall time as Kubernetes writes it where fractions count.

/** metav1.MicroTime: always six digits, of which our clock knows three. */
export function toMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 23)}000Z`
}
