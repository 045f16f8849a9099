------------------------------- MODULE Nodes --------------------------------
(* How every node gets one address of a migration network.                   *)
(*                                                                           *)
(* Nothing is stored on the Node: the Hold itself is the choice. So there is *)
(* no version that two workers contend for, and each may take an address     *)
(* for one node. Both find both again, and by the same order the same one    *)
(* stays: the Hold that was made first, by the second of its creation, and   *)
(* by its name where that is the same. The others, the surplus, rest.        *)
(*                                                                           *)
(* KubeVirt is told of the network when every node holds an address, and a   *)
(* pod of virt-handler is then given the one that its node holds.            *)
(*                                                                           *)
(* One part, the nodes stay. Seconds are counted only as far as Holds differ *)
(* by them; versions are not, as in Ledger.tla: `hold` and `left` name the   *)
(* Holds that are as the worker read them.                                   *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS Nodes,
          Size,       \* the addresses are 1 .. Size, which is also the order of their names
          First,      \* the workers that go by the order; the others only where a variant has two orders
          Others,
          Budget,     \* how often pods end and workers crash; 0 is without end
          None

(* The rules a variant may break. *)
OneOrder == TRUE             \* every worker has the same one stay
RestsSurplus == TRUE         \* what does not stay goes to rest
TellsServed == TRUE          \* KubeVirt is told when every node holds an address
GivesFirst == TRUE           \* a pod is given the one that stays, and no other
TakesASecond == TRUE         \* no rule: no pod is given an address in the second in which its Hold was made
LikelyOnly == FALSE          \* views are good enough to find what is free; for liveness
Yes == TRUE
No == FALSE

VARIABLES hold,     \* address -> None or [node, state, at]; at: the second of its creation
          now,      \* the second
          told,     \* KubeVirt uses the network
          pod,      \* node -> the addresses that its pod runs with; none: there is no pod
          job,      \* worker -> what it is about to send
          acts

vars == <<hold, now, told, pod, job, acts>>
Workers == First \union Others
Addresses == 1 .. Size
Perms == Permutations(Nodes) \union Permutations(First) \union Permutations(Others)
Idle == [step |-> "idle", node |-> None, hold |-> None, left |-> {}]
Exists(x) == x # None

(* The holds after a step, and the second in which it ends: what is counted is how many seconds there are before it. *)
Before(h, t) == Cardinality({h[a].at : a \in {b \in Addresses : Exists(h[b]) /\ h[b].at < t}})
Becomes(h, t) == /\ hold' = [a \in Addresses |-> IF h[a] = None THEN None ELSE [h[a] EXCEPT !.at = Before(h, @)]]
                 /\ now' = Before(h, t)
Same == UNCHANGED <<hold, now>>
Does(w, jobs, j) == job' = [jobs EXCEPT ![w] = j]
HoldWritten(jobs, a) ==
  [w \in Workers |-> IF jobs[w].hold = a /\ jobs[w].step = "expire" THEN Idle
                     ELSE IF a \in jobs[w].left THEN Idle          \* refused, and the pass begins again
                     ELSE jobs[w]]

Held(n) == {a \in Addresses : Exists(hold[a]) /\ hold[a].state = "held" /\ hold[a].node = n}
IsBefore(a, b) == hold[a].at < hold[b].at \/ (hold[a].at = hold[b].at /\ a < b)
Stays(n) == CHOOSE a \in Held(n) : \A b \in Held(n) \ {a} : IsBefore(a, b)
Latest(n) == CHOOSE a \in Held(n) : \A b \in Held(n) \ {a} : IsBefore(b, a)
StaysBy(w, n) == IF OneOrder \/ w \in First THEN Stays(n) ELSE Latest(n)

Init == /\ hold = [a \in Addresses |-> None] /\ now = 0
        /\ told = FALSE
        /\ pod = [n \in Nodes |-> {}]
        /\ job = [w \in Workers |-> Idle]
        /\ acts = 0

---------------------------------------------------------------------------
(* Time, kubelets and users *)
Acts == IF Budget = 0 THEN UNCHANGED acts ELSE acts < Budget /\ acts' = acts + 1
Tick == /\ \E a \in Addresses : Exists(hold[a]) /\ hold[a].at = now
        /\ Becomes(hold, now + 1) /\ UNCHANGED <<told, pod, job, acts>>
PodStarts(n) ==
  /\ told /\ pod[n] = {} /\ Held(n) # {}
  /\ pod' = [pod EXCEPT ![n] = IF GivesFirst THEN {Stays(n)} ELSE Held(n)]
  /\ TakesASecond => \A a \in pod'[n] : hold[a].at < now
  /\ Same /\ UNCHANGED <<told, job, acts>>
PodEnds(n) == /\ pod[n] # {} /\ Acts /\ pod' = [pod EXCEPT ![n] = {}] /\ Same /\ UNCHANGED <<told, job>>

---------------------------------------------------------------------------
(* A worker lists the holds of a node, as the API server has them. *)
Look(w, n) ==
  /\ job[w] = Idle
  /\ \/ /\ Held(n) = {}
        /\ \E a \in Addresses : (LikelyOnly => hold[a] = None) /\ Does(w, job, [Idle EXCEPT !.step = "take", !.node = n, !.hold = a])
     \/ /\ Cardinality(Held(n)) > 1 /\ RestsSurplus
        /\ Does(w, job, [Idle EXCEPT !.step = "rest", !.node = n, !.left = Held(n) \ {StaysBy(w, n)}])
  /\ Same /\ UNCHANGED <<told, pod, acts>>
(* T1 *)
Take(w) ==
  LET j == job[w] IN
  /\ j.step = "take"
  /\ IF hold[j.hold] = None THEN Becomes([hold EXCEPT ![j.hold] = [node |-> j.node, state |-> "held", at |-> now]], now) ELSE Same
  /\ Does(w, job, Idle)
  /\ UNCHANGED <<told, pod, acts>>
(* T10, one request per hold *)
Rest(w) ==
  LET j == job[w] IN
  /\ j.step = "rest"
  /\ \E a \in j.left :
       /\ Becomes([hold EXCEPT ![a].state = "quarantined"], now)
       /\ Does(w, HoldWritten(job, a), IF j.left = {a} THEN Idle ELSE [j EXCEPT !.left = @ \ {a}])
  /\ UNCHANGED <<told, pod, acts>>
(* KubeVirt is told *)
SeeServed(w) ==
  /\ job[w] = Idle /\ ~told
  /\ TellsServed => \A n \in Nodes : Held(n) # {}
  /\ Does(w, job, [Idle EXCEPT !.step = "switch"])
  /\ Same /\ UNCHANGED <<told, pod, acts>>
Switch(w) ==
  /\ job[w].step = "switch" /\ told' = TRUE /\ Does(w, job, Idle)
  /\ Same /\ UNCHANGED <<pod, acts>>
(* T12: a quarantine may be over at any time *)
SeeExpired(w, a) ==
  /\ job[w] = Idle /\ Exists(hold[a]) /\ hold[a].state = "quarantined"
  /\ Does(w, job, [Idle EXCEPT !.step = "expire", !.hold = a])
  /\ Same /\ UNCHANGED <<told, pod, acts>>
Expire(w) ==
  LET a == job[w].hold IN
  /\ job[w].step = "expire"
  /\ Becomes([hold EXCEPT ![a] = None], now) /\ Does(w, HoldWritten(job, a), Idle)
  /\ UNCHANGED <<told, pod, acts>>
Crash(w) == job[w] # Idle /\ Acts /\ Does(w, job, Idle) /\ Same /\ UNCHANGED <<told, pod>>

Sends(w) == Take(w) \/ Rest(w) \/ Switch(w) \/ Expire(w)
Next == \/ Tick
        \/ \E n \in Nodes : PodStarts(n) \/ PodEnds(n)
        \/ \E w \in Workers : \/ Sends(w) \/ Crash(w) \/ SeeServed(w)
                              \/ \E n \in Nodes : Look(w, n)
                              \/ \E a \in Addresses : SeeExpired(w, a)
Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------
(* What is promised, at every moment *)

(* What a pod runs with is held by its node. *)
PodHeld == \A n \in Nodes : pod[n] \subseteq Held(n)
(* Pods of two nodes never run with one address. *)
NoTwin == \A m, n \in Nodes : m # n => pod[m] \intersect pod[n] = {}
(* While KubeVirt uses the network, every node holds an address. *)
ToldServed == told => \A n \in Nodes : Held(n) # {}

(* What comes about, once pods run and crashes rest *)
Fair == /\ \A w \in Workers : WF_vars(Sends(w))
        /\ \A n \in Nodes : SF_vars(\E w \in Workers : Look(w, n))
        /\ \A a \in Addresses : SF_vars(\E w \in Workers : SeeExpired(w, a))
        /\ SF_vars(\E w \in Workers : SeeServed(w))
FairSpec == Spec /\ Fair
(* KubeVirt uses the network, every node holds one address, and no more. *)
EventuallyOne == <>[](told /\ \A n \in Nodes : Cardinality(Held(n)) = 1)
=============================================================================
