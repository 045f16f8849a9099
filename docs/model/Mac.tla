-------------------------------- MODULE Mac ---------------------------------
(* How a claim that is bound changes its MAC (rule 17).                      *)
(*                                                                           *)
(* Parts.tla has the MAC as a part of a claim that is yet to choose. Here    *)
(* every claim is bound, stays, and has its addresses; a user changes which  *)
(* MAC it asks for, and its pod starts and ends. No status names the MAC: a  *)
(* claim says that it has the MAC that it asks for when a MACHold of that is *)
(* held in its name, and no mark on the claim covers it. Who reads that is   *)
(* the worker that tells a pod: what a pod was told, a machine runs with.    *)
(*                                                                           *)
(* Versions are not counted, as in Ledger.tla. `fresh` says that the claim   *)
(* is as this pass read it; `left` and `hold` name the holds that are. A     *)
(* mark is a version, and covers the holds up to it. Which others of the     *)
(* claim it covers beside those that it was written for is left open. A pod  *)
(* that was told nothing yet may be another one whenever it is looked at:    *)
(* `listed` names a worker's decision to tell one that has been listed since.*)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Names,
          MACs,
          Workers,
          Budget,     \* how often users act and workers crash; 0 is without end
          None

(* The rules a variant may break. *)
MarksFirst == TRUE           \* T15 comes before a former MAC goes to rest
HeedsMark == TRUE            \* what the mark covers is no proof until it is renewed (T2), neither for the claim
PodsHeedMark == TRUE         \* nor for what a pod is told
HoldsFirst == TRUE           \* a pod is told the MAC only when the claim holds it
AsksPods == TRUE             \* what a pod runs with does not go to rest
ChecksRested == TRUE         \* T10 carries the hold's version
WaitingLetsGo == TRUE        \* also a claim that waits for its next MAC lets go of its former one
TouchesPods == TRUE          \* what is listed and not told yet is written before a former MAC goes to rest
ListsLast == TRUE            \* and is listed after T15
ClaimLast == TRUE            \* who tells a pod reads the claim after the pod
LikelyOnly == FALSE          \* one worker per claim; for liveness
Yes == TRUE
No == FALSE

VARIABLES claim,    \* name -> the MAC that it asks for
          hold,     \* MAC -> None or [name, state, marked]; marked: the mark on its claim covers it
          pod,      \* name -> the MAC that its pod was told; None: it has no pod, or that was told nothing yet
          job,      \* worker -> what it is about to send
          acts

vars == <<claim, hold, pod, job, acts>>
Perms == Permutations(Names) \union Permutations(Workers) \union Permutations(MACs)

Idle == [step |-> "idle", name |-> None, hold |-> None, left |-> {}, fresh |-> FALSE, listed |-> FALSE]
Exists(x) == x # None

---------------------------------------------------------------------------
(* Versions *)
ClaimWritten(jobs, n) ==
  [w \in Workers |-> IF jobs[w].name # n \/ ~jobs[w].fresh THEN jobs[w] ELSE Idle]
HoldWritten(jobs, a) ==
  [w \in Workers |-> IF jobs[w].hold = a /\ jobs[w].step \in {"renew", "regain", "expire"} THEN Idle
                     ELSE IF ChecksRested THEN [jobs[w] EXCEPT !.left = @ \ {a}] ELSE jobs[w]]
(* Who has listed the pod, and means to touch it, is refused as well. *)
PodTold(jobs, n, isListed) ==
  [w \in Workers |-> IF jobs[w].name = n /\ (jobs[w].step = "tell" \/ (isListed /\ jobs[w].step = "touch")) THEN Idle ELSE jobs[w]]
PodListed(jobs, n) == [w \in Workers |-> IF jobs[w].name = n /\ jobs[w].step = "tell" THEN [jobs[w] EXCEPT !.listed = TRUE] ELSE jobs[w]]
(* A pod that came after the list is not touched. *)
PodTouched(jobs, n) == [w \in Workers |-> IF jobs[w].name = n /\ jobs[w].listed THEN Idle ELSE jobs[w]]
Does(w, jobs, j) == job' = [jobs EXCEPT ![w] = j]
Stops(w) == Does(w, job, Idle)

---------------------------------------------------------------------------
(* Who has what *)
Holds(n, a) == Exists(hold[a]) /\ hold[a].state = "held" /\ hold[a].name = n
Former(n) == {a \in MACs : Holds(n, a) /\ a # claim[n]}
(* The claim says that it has the MAC that it asks for. *)
Has(n) == Holds(n, claim[n]) /\ ~hold[claim[n]].marked
HeldBy(n) == [name |-> n, state |-> "held", marked |-> FALSE]
RestsFor(n) == [name |-> n, state |-> "quarantined", marked |-> FALSE]

Init == /\ claim \in [Names -> MACs]
        /\ hold = [a \in MACs |-> None]
        /\ pod = [n \in Names |-> None]
        /\ job = [w \in Workers |-> Idle]
        /\ acts = 0

(* Users *)
Acts == IF Budget = 0 THEN UNCHANGED acts ELSE acts < Budget /\ acts' = acts + 1
AskFor(n, a) ==
  /\ claim[n] # a /\ Acts
  /\ claim' = [claim EXCEPT ![n] = a]
  /\ job' = ClaimWritten(job, n)
  /\ UNCHANGED <<hold, pod>>
PodEnds(n) ==
  /\ Exists(pod[n]) /\ Acts
  /\ pod' = [pod EXCEPT ![n] = None]
  /\ UNCHANGED <<claim, hold, job>>

---------------------------------------------------------------------------
(* A worker reads a claim, its holds, and the hold of the MAC that it asks for, and begins a pass. *)
Look(w, n) ==
  LET a == claim[n] h == hold[a]
      Begins(step) == Does(w, job, [Idle EXCEPT !.step = step, !.name = n, !.hold = a])
      LetsGo == /\ Former(n) # {}
                /\ Does(w, job, [Idle EXCEPT !.step = "ask", !.name = n, !.left = Former(n),
                                             !.fresh = MarksFirst /\ \E b \in Former(n) : ~hold[b].marked]) IN
  /\ job[w] = Idle
  /\ LikelyOnly => \A v \in Workers : job[v].name # n
  /\ CASE h = None -> Begins("take")
       [] Exists(h) /\ h.name = n /\ h.state = "quarantined" -> Begins("regain")
       [] Holds(n, a) /\ HeedsMark /\ h.marked -> Begins("renew")
       [] Holds(n, a) /\ ~(HeedsMark /\ h.marked) -> LetsGo
       [] OTHER -> WaitingLetsGo /\ LetsGo
  /\ UNCHANGED <<claim, hold, pod, acts>>
(* A worker reads a pod, its claim and the holds. The pod may ask for a MAC of its own: then for one that the claim holds. *)
Proven(n, a) == Holds(n, a) /\ (PodsHeedMark /\ HeedsMark => ~hold[a].marked)
LookAtPod(w, n) ==
  /\ job[w] = Idle
  /\ LikelyOnly => \A v \in Workers : job[v].name # n
  /\ pod[n] = None
  /\ \E a \in MACs :
       /\ IF HoldsFirst THEN Proven(n, claim[n]) /\ Proven(n, a) ELSE a = claim[n]
       /\ Does(w, job, [Idle EXCEPT !.step = IF ClaimLast THEN "tell" ELSE "decided", !.name = n, !.hold = a])
  /\ UNCHANGED <<claim, hold, pod, acts>>
(* The variant: the claim was read before. *)
SeePod(w) ==
  LET j == job[w] IN
  /\ j.step = "decided"
  /\ Does(w, job, IF pod[j.name] = None THEN [j EXCEPT !.step = "tell"] ELSE Idle)
  /\ UNCHANGED <<claim, hold, pod, acts>>

(* The new MAC *)
(* T1 *)
Take(w) ==
  LET j == job[w] IN
  /\ j.step = "take"
  /\ IF hold[j.hold] = None THEN hold' = [hold EXCEPT ![j.hold] = HeldBy(j.name)] ELSE UNCHANGED hold
  /\ Stops(w)
  /\ UNCHANGED <<claim, pod, acts>>
(* T2 and T3 *)
RenewOrRegain(w) ==
  LET j == job[w] IN
  /\ j.step \in {"renew", "regain"}
  /\ hold' = [hold EXCEPT ![j.hold] = HeldBy(j.name)]
  /\ Does(w, HoldWritten(job, j.hold), Idle)
  /\ UNCHANGED <<claim, pod, acts>>
(* the pod, under its version *)
Tell(w) ==
  LET j == job[w] IN
  /\ j.step = "tell"
  /\ pod' = [pod EXCEPT ![j.name] = j.hold]
  /\ Does(w, PodTold(job, j.name, j.listed), Idle)
  /\ UNCHANGED <<claim, hold, acts>>

(* The former MAC *)
(* which pods run with it, and which are not told yet, as the API server answers *)
Ask(w) ==
  LET j == job[w] n == j.name
      unused == IF AsksPods THEN j.left \ {pod[n]} ELSE j.left IN
  /\ j.step = "ask"
  /\ Does(w, PodListed(job, n), IF unused = {} THEN Idle ELSE [j EXCEPT !.step = IF j.fresh THEN "mark" ELSE "touch", !.left = unused])
  /\ UNCHANGED <<claim, hold, pod, acts>>
(* T15: the version of the holds that are to go, on the claim. The next pass asks again. *)
Mark(w) ==
  LET j == job[w] n == j.name IN
  /\ j.step = "mark"
  /\ \E others \in SUBSET ({a \in MACs : Holds(n, a)} \ j.left) :
       hold' = [a \in MACs |-> IF Holds(n, a) /\ (a \in j.left \/ a \in others) THEN [hold[a] EXCEPT !.marked = TRUE] ELSE hold[a]]
  /\ Does(w, ClaimWritten(job, n), IF ListsLast THEN Idle ELSE [j EXCEPT !.step = "touch", !.fresh = FALSE])
  /\ UNCHANGED <<claim, pod, acts>>
(* a mark on what is not told yet, under its version *)
Touch(w) ==
  LET j == job[w] IN
  /\ j.step = "touch"
  /\ Does(w, IF TouchesPods THEN PodTouched(job, j.name) ELSE job, [j EXCEPT !.step = "rest"])
  /\ UNCHANGED <<claim, hold, pod, acts>>
(* T10, one request per hold *)
Rest(w) ==
  LET j == job[w] IN
  /\ j.step = "rest"
  /\ \/ j.left = {} /\ UNCHANGED hold /\ Stops(w)
     \/ \E a \in j.left :
          /\ hold' = [hold EXCEPT ![a] = IF @ = None THEN None ELSE RestsFor(@.name)]
          /\ Does(w, HoldWritten(job, a), [j EXCEPT !.left = @ \ {a}])
  /\ UNCHANGED <<claim, pod, acts>>
(* T12: a quarantine may be over at any time *)
SeeExpired(w, a) ==
  /\ Exists(hold[a]) /\ hold[a].state = "quarantined" /\ job[w] = Idle
  /\ Does(w, job, [Idle EXCEPT !.step = "expire", !.hold = a])
  /\ UNCHANGED <<claim, hold, pod, acts>>
Expire(w) ==
  LET a == job[w].hold IN
  /\ job[w].step = "expire"
  /\ hold' = [hold EXCEPT ![a] = None] /\ Does(w, HoldWritten(job, a), Idle)
  /\ UNCHANGED <<claim, pod, acts>>
Crash(w) == job[w] # Idle /\ Acts /\ Stops(w) /\ UNCHANGED <<claim, hold, pod>>

Sends(w) == Take(w) \/ RenewOrRegain(w) \/ SeePod(w) \/ Tell(w) \/ Ask(w) \/ Mark(w) \/ Touch(w) \/ Rest(w) \/ Expire(w)
Next == \/ \E n \in Names : PodEnds(n) \/ \E a \in MACs : AskFor(n, a)
        \/ \E w \in Workers : \/ Sends(w) \/ Crash(w)
                              \/ \E n \in Names : Look(w, n) \/ LookAtPod(w, n)
                              \/ \E a \in MACs : SeeExpired(w, a)
Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------
(* What is promised, at every moment *)

(* What a pod was told is held by its claim, whatever that asks for now. *)
ToldHeld == \A n \in Names : Exists(pod[n]) => Holds(n, pod[n])
(* Two machines never run with one MAC. *)
NoTwin == \A m, n \in Names : m # n /\ Exists(pod[m]) => pod[m] # pod[n]

(* What is promised of every step *)

(* What a claim says that it has stays held by it while it asks for it. *)
AskedStays == [][\A n \in Names : Has(n) /\ claim'[n] = claim[n] =>
                   Exists(hold'[claim[n]]) /\ hold'[claim[n]].name = n /\ hold'[claim[n]].state = "held"]_vars
(* What was held goes to rest for its claim; from there to the same, or, when the time is over, it is free. *)
NoEarlyReuse == [][\A a \in MACs : Exists(hold[a]) => IF hold'[a] = None THEN hold[a].state = "quarantined"
                                                                         ELSE hold'[a].name = hold[a].name]_vars

---------------------------------------------------------------------------
(* What comes about, once users and crashes rest *)
Fair == /\ \A w \in Workers : WF_vars(Sends(w))
        /\ \A n \in Names : SF_vars(\E w \in Workers : Look(w, n)) /\ SF_vars(\E w \in Workers : LookAtPod(w, n))
        /\ \A a \in MACs : SF_vars(\E w \in Workers : SeeExpired(w, a))
FairSpec == Spec /\ Fair

(* A claim says that it has what it asks for, or another claim does, or the pod of another runs with it. *)
EventuallyHas == <>[](\A n \in Names : Has(n) \/ \E m \in Names \ {n} : (claim[m] = claim[n] /\ Has(m)) \/ pod[m] = claim[n])
(* No claim keeps a former MAC that no pod runs with, and no quarantine outlasts its time. *)
EventuallyTidy == <>[](\A a \in MACs : Exists(hold[a]) =>
                         hold[a].state = "held" /\ (claim[hold[a].name] = a \/ pod[hold[a].name] = a))
=============================================================================
