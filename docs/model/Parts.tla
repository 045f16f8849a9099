------------------------------- MODULE Parts --------------------------------
(* How a claim gets, keeps and gives back several things, all or nothing.    *)
(*                                                                           *)
(* A claim has two parts (two interfaces, two families, an address and a     *)
(* MAC), each with a set of addresses of its own or with one set for both.   *)
(* A MAC is an address here: a MACHold is taken by the same steps.           *)
(*                                                                           *)
(* Ledger.tla covers what concerns one address: reports, adoption, arrivals, *)
(* pools that change, the garbage collector, finalizers taken off. Here a    *)
(* reader follows a claim to its status, which shows every part (T7).        *)
(*                                                                           *)
(* Versions are not counted, as in Ledger.tla. `fresh` says that the claim   *)
(* is as this pass read it; `made`, `kept` and `hold` name the holds that    *)
(* are as this pass wrote or read them.                                      *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Names,
          First,      \* the addresses for the first part
          Second,     \* the addresses for the second part; other ones, or the same
          Workers,
          Uids,       \* reused once nothing mentions them
          Hands,      \* what users and administrators do besides creating and deleting claims
          Budget,     \* how often they act and workers crash; 0 is without end
          None

(* The rules a variant may break. *)
StoresWhole == TRUE          \* T4 stores the choice of every part, or none
GivesBack == TRUE            \* a pass that cannot have every part gives back
GivesFoundBack == TRUE       \* also what an earlier pass left
WritesClaimFirst == TRUE     \* T15 comes before a found hold is given back
WritesVersion == TRUE        \* T15 carries the claim's version
WritesAnew == TRUE           \* T15 changes the claim's version
ReadsHoldFirst == TRUE       \* a found hold is given back under a version that was read before T15
ChecksGivenBack == TRUE      \* what is given back is given back by version
RestsFound == TRUE           \* a found hold goes to rest, and is not deleted
RestsRegained == TRUE        \* a regained hold goes back to rest, and is not deleted
RenewsFound == TRUE          \* T2
ReadsClaimOnce == TRUE       \* T4 carries the claim's version as read before the first hold of the pass
KnowsPart == TRUE            \* a hold is had for the part that it names
ComparesPart == TRUE         \* a stray is told by the choice for the hold's own part
SparesStripped == TRUE       \* a claim that lost its choice takes exactly what it holds, and gives nothing back
FixedOrder == TRUE           \* every claim takes its parts in the same order
LikelyOnly == FALSE          \* views are good enough to find what is free, one worker per claim; for liveness
FromBirth == FALSE           \* a kind of claim that has our finalizer before its choice; no rule
Yes == TRUE
No == FALSE

VARIABLES claim,    \* name -> None or [uid, dying, guard, choice, shows, said]; shows: what its status says it is bound to
          hold,     \* address -> None or [uid, name, part, state, dying, used]; used: was in a choice since it was last free
          job,      \* worker -> what it is about to send
          acts

vars == <<claim, hold, job, acts>>
Parts == {1, 2}
Addresses == First \union Second
Of(p) == IF p = 1 THEN First ELSE Second
Perms == Permutations(Names) \union Permutations(Workers) \union Permutations(Uids)
PermsTwo == Perms \union Permutations(First)

Nothing == [p \in Parts |-> None]
Idle == [step |-> "idle", name |-> None, uid |-> None, asks |-> None, turn |-> 1, at |-> Nothing,
         hold |-> None, made |-> {}, kept |-> {}, fresh |-> FALSE]
Exists(x) == x # None
SomeName == CHOOSE n \in Names : TRUE
(* The part that is taken first, and the one that is taken second. *)
PartOf(j) == IF FixedOrder \/ j.name = SomeName THEN j.turn ELSE 3 - j.turn

---------------------------------------------------------------------------
(* Versions *)
OnClaim == {"choose", "bind", "unguard"}
Settle(j) == IF j.step = "give back" /\ j.made = {} /\ j.kept = {} THEN Idle ELSE j

(* What is left of the jobs after a write to claim n, hold a. *)
ClaimWritten(jobs, n) ==
  [w \in Workers |-> IF jobs[w].name # n \/ ~jobs[w].fresh THEN jobs[w]
                     ELSE IF jobs[w].step \in OnClaim THEN Idle
                     ELSE [jobs[w] EXCEPT !.fresh = FALSE]]
HoldWritten(jobs, a) ==
  [w \in Workers |-> IF jobs[w].hold = a THEN Idle
                     ELSE IF ~ChecksGivenBack THEN jobs[w]
                     ELSE Settle([jobs[w] EXCEPT !.made = @ \ {a}, !.kept = @ \ {a}])]

Does(w, jobs, j) == job' = [jobs EXCEPT ![w] = j]
Stops(w) == Does(w, job, Idle)

---------------------------------------------------------------------------
(* Who has what *)
Holds(uid, a) == Exists(hold[a]) /\ hold[a].state = "held" /\ hold[a].uid = uid
IsFor(a, p) == KnowsPart => hold[a].part = p
HoldsFor(uid, a, p) == Holds(uid, a) /\ hold[a].part = p
MineFor(n, p) == {a \in Addresses : HoldsFor(claim[n].uid, a, p)}
HoldsNothing(n) == \A a \in Addresses : ~Holds(claim[n].uid, a)
Lives(n) == Exists(claim[n]) /\ ~claim[n].dying
Reads(n) == Lives(n) /\ Exists(claim[n].shows)
MayHave(uid, n, p, a) == IF hold[a] = None \/ HoldsFor(uid, a, p) THEN TRUE
                         ELSE hold[a].state = "quarantined" /\ hold[a].name = n /\ hold[a].part = p
Available(uid, n, p) == {a \in Of(p) : MayHave(uid, n, p, a)}
Used(u) == \/ \E n \in Names : Exists(claim[n]) /\ claim[n].uid = u
           \/ \E a \in Addresses : Exists(hold[a]) /\ hold[a].uid = u
           \/ \E w \in Workers : job[w].uid = u
AtRest(h) == [h EXCEPT !.uid = None, !.state = "quarantined", !.guard = TRUE]    \* in quarantine the finalizer tells nothing: one state

---------------------------------------------------------------------------
NewClaim(u) == [uid |-> u, dying |-> FALSE, guard |-> FromBirth, choice |-> None, shows |-> None, said |-> FALSE]
Init == /\ hold = [a \in Addresses |-> None]
        /\ job = [w \in Workers |-> Idle]
        /\ acts = 0
        /\ \E is \in [Names -> Uids \union {None}] :
             /\ \A m, n \in Names : m # n /\ is[m] # None => is[m] # is[n]
             /\ claim = [n \in Names |-> IF is[n] = None THEN None ELSE NewClaim(is[n])]

(* Users and administrators *)
Acts == IF Budget = 0 THEN UNCHANGED acts ELSE acts < Budget /\ acts' = acts + 1
Create(n) ==
  /\ claim[n] = None /\ Acts
  /\ \E u \in Uids : ~Used(u) /\ claim' = [claim EXCEPT ![n] = NewClaim(u)]
  /\ UNCHANGED <<hold, job>>
Delete(n) ==
  /\ Lives(n) /\ Acts
  /\ claim' = [claim EXCEPT ![n] = IF claim[n].guard THEN [@ EXCEPT !.dying = TRUE] ELSE None]
  /\ job' = ClaimWritten(job, n)
  /\ UNCHANGED hold
StripChoice(n) ==
  /\ "strip choice" \in Hands /\ Exists(claim[n]) /\ Exists(claim[n].choice) /\ Acts
  /\ claim' = [claim EXCEPT ![n].choice = None] /\ job' = ClaimWritten(job, n)
  /\ UNCHANGED hold
(* a held hold stays, terminating, for its finalizer; one in quarantine goes at once: the administrator says it is free *)
DeleteHold(a) ==
  /\ "delete hold" \in Hands /\ Exists(hold[a]) /\ ~hold[a].dying /\ Acts
  /\ hold' = [hold EXCEPT ![a] = IF @.state = "held" /\ @.guard THEN [@ EXCEPT !.dying = TRUE] ELSE None]
  /\ job' = HoldWritten(job, a)
  /\ UNCHANGED claim
ByHands == \/ \E n \in Names : Create(n) \/ Delete(n) \/ StripChoice(n)
          \/ \E a \in Addresses : DeleteHold(a)

---------------------------------------------------------------------------
(* A worker reads a claim, and begins a pass. What it asks for: what is stored; what it held when its choice was stripped; *)
(* or, for a new claim, whatever it may have.                                                                              *)
Look(w, n) ==
  LET c == claim[n]
      Begins(step, asks, at) == Does(w, job, [Idle EXCEPT !.step = step, !.name = n, !.uid = c.uid, !.asks = asks, !.at = at, !.fresh = TRUE]) IN
  /\ job[w] = Idle /\ Exists(c)
  /\ LikelyOnly => \A v \in Workers : job[v].name # n                             \* the queue gives a claim to one worker at a time
  /\ CASE c.dying -> Begins("release", None, Nothing)
       [] ~c.dying /\ Exists(c.choice) -> c.shows = None /\ Begins("take", "stored", c.choice)
       [] ~c.dying /\ c.choice = None /\ SparesStripped /\ ((c.guard /\ ~FromBirth) \/ Exists(c.shows)) ->
            \E at \in [Parts -> Addresses] : /\ \A p \in Parts : MineFor(n, p) = {at[p]}    \* else: said so, and nothing done
                                            /\ Begins("take", "stripped", at)
       [] OTHER -> Begins("take", "new", Nothing)
  /\ UNCHANGED <<claim, hold, acts>>

(* After the hold of one part: the next part. After the last: T4, or T7 where the choice is stored. *)
Had(j, a) ==
  LET k == [j EXCEPT !.at[PartOf(j)] = a, !.hold = None] IN
  IF j.turn = 1 /\ StoresWhole THEN [k EXCEPT !.step = "take", !.turn = 2, !.fresh = @ \/ (~ReadsClaimOnce /\ Exists(claim[j.name]))]
  ELSE IF ~j.fresh THEN Idle                                                    \* the API server will refuse
  ELSE IF j.asks = "stored" THEN [k EXCEPT !.step = "bind", !.at = Nothing, !.turn = 1, !.made = {}, !.kept = {}]
  ELSE [k EXCEPT !.step = "choose", !.made = {}, !.kept = {}]
(* A part cannot be had. *)
Fails(j) == IF ~GivesBack \/ j.asks # "new" THEN Idle ELSE [j EXCEPT !.step = "say", !.at = Nothing, !.hold = None, !.turn = 1]

(* T1, for one part *)
Asked(j) ==
  LET p == PartOf(j) free == Available(j.uid, j.name, p) IN
  CASE j.asks # "new" -> {j.at[p]}
    [] OTHER -> IF ~LikelyOnly THEN Of(p)
                ELSE IF \E a \in free : Holds(j.uid, a) THEN {a \in free : Holds(j.uid, a)} ELSE free
Take(w) ==
  LET j == job[w] n == j.name p == PartOf(j) IN
  /\ j.step = "take"
  /\ \/ \E a \in Asked(j) :
          LET h == hold[a] IN
          IF h = None
          THEN /\ hold' = [hold EXCEPT ![a] = [uid |-> j.uid, name |-> n, part |-> p, state |-> "held", guard |-> TRUE, dying |-> FALSE, used |-> FALSE]]
               /\ Does(w, job, Had([j EXCEPT !.made = @ \union {a}], a))
          ELSE /\ UNCHANGED hold
               /\ CASE Holds(j.uid, a) /\ IsFor(a, p) ->
                         Does(w, job, IF RenewsFound THEN [j EXCEPT !.step = "renew", !.hold = a] ELSE Had(j, a))
                    [] h.state = "quarantined" /\ h.name = n /\ IsFor(a, p) -> Does(w, job, [j EXCEPT !.step = "regain", !.hold = a])
                    [] OTHER -> Does(w, job, Fails(j))
     \/ (LikelyOnly => Asked(j) = {}) /\ UNCHANGED hold /\ Does(w, job, Fails(j))
  /\ UNCHANGED <<claim, acts>>
(* T2 *)
Renew(w) ==
  LET j == job[w] IN
  /\ j.step = "renew"
  /\ hold' = [hold EXCEPT ![j.hold] = IF @ = None THEN None ELSE [@ EXCEPT !.guard = TRUE]]
  /\ Does(w, HoldWritten(job, j.hold), Had(j, j.hold))
  /\ UNCHANGED <<claim, acts>>
(* T3 *)
Regain(w) ==
  LET j == job[w] a == j.hold IN
  /\ j.step = "regain"
  /\ hold' = [hold EXCEPT ![a] = [@ EXCEPT !.uid = j.uid, !.state = "held"]]
  /\ Does(w, HoldWritten(job, a), Had(IF RestsRegained THEN [j EXCEPT !.kept = @ \union {a}] ELSE [j EXCEPT !.made = @ \union {a}], a))
  /\ UNCHANGED <<claim, acts>>
(* T4: every part in one write *)
Choose(w) ==
  LET j == job[w] n == j.name IN
  /\ j.step = "choose"
  /\ IF Lives(n) /\ claim[n].uid = j.uid /\ claim[n].choice = None
     THEN /\ claim' = [claim EXCEPT ![n] = [@ EXCEPT !.choice = j.at, !.guard = TRUE, !.said = FALSE]]
          /\ hold' = [a \in Addresses |-> IF Holds(j.uid, a) /\ \E p \in Parts : j.at[p] = a THEN [hold[a] EXCEPT !.used = TRUE] ELSE hold[a]]
          /\ Does(w, ClaimWritten(job, n), [j EXCEPT !.step = "bind", !.at = Nothing, !.turn = 1, !.asks = "stored"])
     ELSE UNCHANGED <<claim, hold>> /\ Stops(w)
  /\ UNCHANGED acts
(* T7 *)
Bind(w) ==
  LET j == job[w] n == j.name IN
  /\ j.step = "bind"
  /\ IF claim[n].shows = claim[n].choice THEN UNCHANGED claim /\ Stops(w)
     ELSE claim' = [claim EXCEPT ![n].shows = claim[n].choice] /\ Does(w, ClaimWritten(job, n), Idle)
  /\ UNCHANGED <<hold, acts>>

---------------------------------------------------------------------------
(* Nothing is kept of what is not whole *)
(* T15: the claim says which part it waits for. What an earlier pass left is read just before: a version that was read earlier *)
(* is refused later, or is still this one.                                                                                     *)
Found(j) == IF GivesFoundBack THEN {a \in Addresses : Holds(j.uid, a)} \ (j.made \union j.kept) ELSE {}
GivingBack(j, found) ==
  LET k == [j EXCEPT !.step = "give back", !.fresh = FALSE] IN
  Settle(IF RestsFound THEN [k EXCEPT !.kept = @ \union found] ELSE [k EXCEPT !.made = @ \union found])
Say(w) ==
  LET j == job[w] n == j.name
      isThere == Exists(claim[n]) /\ claim[n].uid = j.uid
      isAccepted == j.fresh \/ (~WritesVersion /\ isThere)
      next == IF ReadsHoldFirst THEN GivingBack(j, Found(j)) ELSE [j EXCEPT !.step = "list"] IN
  /\ j.step = "say"
  /\ IF ~WritesClaimFirst THEN UNCHANGED claim /\ Does(w, job, GivingBack(j, Found(j)))
     ELSE IF ~isAccepted \/ Found(j) = {} THEN UNCHANGED claim /\ Does(w, job, GivingBack(j, {}))
     ELSE IF ~WritesAnew /\ claim[n].said THEN UNCHANGED claim /\ Does(w, job, next)          \* a write that changes nothing
     ELSE claim' = [claim EXCEPT ![n].said = ~WritesAnew] /\ Does(w, ClaimWritten(job, n), next)
  /\ UNCHANGED <<hold, acts>>
(* only where a variant reads too late *)
List(w) ==
  /\ job[w].step = "list" /\ Does(w, job, GivingBack(job[w], Found(job[w])))
  /\ UNCHANGED <<claim, hold, acts>>
(* T14, two requests: the finalizer off, then delete *)
GiveBackMade(w, a) ==
  LET j == job[w] done == Settle([j EXCEPT !.made = @ \ {a}]) IN
  /\ j.step = "give back" /\ a \in j.made
  /\ IF hold[a] = None THEN UNCHANGED hold /\ Does(w, job, done)
     ELSE IF hold[a].dying \/ ~hold[a].guard THEN hold' = [hold EXCEPT ![a] = None] /\ Does(w, HoldWritten(job, a), done)
     ELSE hold' = [hold EXCEPT ![a].guard = FALSE] /\ Does(w, HoldWritten(job, a), j)
  /\ UNCHANGED <<claim, acts>>
(* T10 *)
GiveBackKept(w, a) ==
  LET j == job[w] IN
  /\ j.step = "give back" /\ a \in j.kept
  /\ hold' = [hold EXCEPT ![a] = IF @ = None THEN None ELSE AtRest(@)]
  /\ Does(w, HoldWritten(job, a), Settle([j EXCEPT !.kept = @ \ {a}]))
  /\ UNCHANGED <<claim, acts>>

---------------------------------------------------------------------------
(* The claim goes *)
(* T10, one request per hold; a hold that it misses is a stray soon *)
Release(w) ==
  LET j == job[w] IN
  /\ j.step = "release"
  /\ \/ \E a \in Addresses : Holds(j.uid, a) /\ hold' = [hold EXCEPT ![a] = AtRest(@)] /\ job' = HoldWritten(job, a)
     \/ /\ LikelyOnly => \A a \in Addresses : ~Holds(j.uid, a)
        /\ UNCHANGED hold /\ Does(w, job, IF j.fresh THEN [j EXCEPT !.step = "unguard"] ELSE Idle)
  /\ UNCHANGED <<claim, acts>>
(* T11 *)
Unguard(w) ==
  LET n == job[w].name IN
  /\ job[w].step = "unguard"
  /\ claim' = [claim EXCEPT ![n] = None] /\ Does(w, ClaimWritten(job, n), Idle)
  /\ UNCHANGED <<hold, acts>>

(* Housekeeping: look, then act by version on what was seen. A quarantine may be over at any time. *)
Stray(a) == LET h == hold[a] c == claim[h.name] IN
  /\ h.state = "held"
  /\ IF c = None THEN TRUE ELSE IF c.uid # h.uid THEN TRUE
     ELSE Exists(c.choice) /\ c.choice[IF ComparesPart THEN h.part ELSE 1] # a
Sees(w, step, a) == job[w] = Idle /\ Does(w, job, [Idle EXCEPT !.step = step, !.hold = a]) /\ UNCHANGED <<claim, hold, acts>>
SeeStray(w, a) == Exists(hold[a]) /\ Stray(a) /\ Sees(w, "reap", a)
SeeExpired(w, a) == Exists(hold[a]) /\ hold[a].state = "quarantined" /\ Sees(w, "expire", a)
(* T10 *)
Reap(w) ==
  LET a == job[w].hold IN
  /\ job[w].step = "reap"
  /\ hold' = [hold EXCEPT ![a] = AtRest(@)] /\ Does(w, HoldWritten(job, a), Idle)
  /\ UNCHANGED <<claim, acts>>
(* T12 *)
Expire(w) ==
  LET a == job[w].hold IN
  /\ job[w].step = "expire"
  /\ hold' = [hold EXCEPT ![a] = None] /\ Does(w, HoldWritten(job, a), Idle)
  /\ UNCHANGED <<claim, acts>>
Crash(w) == job[w] # Idle /\ Acts /\ Stops(w) /\ UNCHANGED <<claim, hold>>

Sends(w) == \/ Take(w) \/ Renew(w) \/ Regain(w) \/ Choose(w) \/ Bind(w) \/ Say(w) \/ List(w)
            \/ \E a \in Addresses : GiveBackMade(w, a) \/ GiveBackKept(w, a)
            \/ Release(w) \/ Unguard(w) \/ Reap(w) \/ Expire(w)
Next == \/ ByHands
        \/ \E w \in Workers : \/ Sends(w) \/ Crash(w)
                              \/ \E n \in Names : Look(w, n)
                              \/ \E a \in Addresses : SeeStray(w, a) \/ SeeExpired(w, a)
Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------
(* What is promised, at every moment *)

(* What a bound claim shows for a part is held by it for that part; so is its choice, which says the same. *)
HonestBound == \A n \in Names : Reads(n) =>
  /\ \A p \in Parts : claim[n].shows[p] # None /\ HoldsFor(claim[n].uid, claim[n].shows[p], p)
  /\ claim[n].choice \in {None, claim[n].shows}
(* A reader never finds one address behind two parts, of one claim or of two. *)
NoTwin == \A m, n \in Names, p, q \in Parts : <<m, p>> # <<n, q>> /\ Reads(m) /\ Reads(n) => claim[m].shows[p] # claim[n].shows[q]
(* A choice has its holds until its claim is on its way out. *)
ChoiceHeld == \A n \in Names : Lives(n) /\ Exists(claim[n].choice) =>
  \A p \in Parts : claim[n].choice[p] # None => HoldsFor(claim[n].uid, claim[n].choice[p], p)
(* A choice has every part; a bound claim holds every part. *)
AllOrNothing == \A n \in Names : Exists(claim[n]) =>
  /\ Exists(claim[n].choice) => \A p \in Parts : claim[n].choice[p] # None
  /\ Reads(n) => \A p \in Parts : MineFor(n, p) # {}

(* What is promised of every step *)

(* What was in a choice goes to rest under its owner's name and part; from there to the same, or, when the time is over, it is free. *)
Lawful(a) == LET h == hold[a] g == hold'[a] IN
  \/ h = None \/ h = g \/ DeleteHold(a)
  \/ Exists(g) /\ g.name = h.name /\ g.part = h.part /\ (h.state = "held" /\ g.state = "held" => g.uid = h.uid)
  \/ g = None /\ h.state = "quarantined" /\ \E w \in Workers : job[w].step = "expire" /\ job[w].hold = a
  \/ g = None /\ ~h.used
NoEarlyReuse == [][\A a \in Addresses : Lawful(a)]_vars
(* What a bound claim shows does not change. *)
SameAddress == [][\A n \in Names : Exists(claim[n]) /\ Exists(claim'[n]) /\ claim[n].uid = claim'[n].uid /\ Exists(claim[n].shows)
                    => claim'[n].shows = claim[n].shows]_vars

---------------------------------------------------------------------------
(* What comes about, once users, administrators and crashes rest *)
Fair == /\ \A w \in Workers : WF_vars(Sends(w))
        /\ \A n \in Names : SF_vars(\E w \in Workers : Look(w, n))
        /\ SF_vars(\E w \in Workers, a \in Addresses : SeeStray(w, a))
        /\ \A a \in Addresses : SF_vars(\E w \in Workers : SeeExpired(w, a))
FairSpec == Spec /\ Fair

Settled(n) == Exists(claim[n].choice) /\ claim[n].shows = claim[n].choice
Waits(n) == \E p \in Parts : Available(claim[n].uid, n, p) = {}
(* A claim that is not bound lacks a part that it cannot have. *)
EventuallyBound == <>[](\A n \in Names : Lives(n) => Settled(n) \/ Waits(n))
(* A claim that waits holds nothing, again and again: a pass may take a part, miss the other and give back, any number of times. *)
NothingHalfTaken == \A n \in Names : []<>(Lives(n) => Settled(n) \/ HoldsNothing(n))
EventuallyGone == <>[](\A n \in Names : Exists(claim[n]) => ~claim[n].dying)
EventuallyTidy == <>[](\A a \in Addresses : Exists(hold[a]) => hold[a].state = "held" /\ ~Stray(a))
=============================================================================
