------------------------------- MODULE Ledger -------------------------------
(* How a claim gets, keeps and gives back one address.                       *)
(*                                                                           *)
(* Any number of workers act at once. A worker looks, then sends requests;   *)
(* between any two of them it may sleep for ever, crash, or wake after the   *)
(* world has moved on. People create and delete claims, and do what they     *)
(* should not. README.md names the steps T1..T14; each is one action here.   *)
(*                                                                           *)
(* Versions are not counted. A worker whose next request carries the version *)
(* of an object loses that request when another worker, or a user, writes    *)
(* the object: the API server would refuse it, and being refused ends the    *)
(* pass.                                                                     *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Names,      \* of claims; a name is deleted and created again with a new uid
          Addresses,
          Workers,
          Uids,       \* reused once nothing anywhere mentions them, so that the world is finite and time is not
          Hands,      \* what people do besides creating and deleting claims
          Before,     \* whether there may be claims and reports from before the first worker
          Budget,     \* how often people act and workers crash; 0 is without end
          None

(* The rules a variant may break. *)
TakesHold == TRUE            \* T1 comes before the choice
CreatesHold == TRUE          \* T1 creates, and never overwrites
GuardsHold == TRUE           \* a held hold has a finalizer
ChecksClaim == TRUE          \* T4, T7, T11 carry the claim's uid and version
ChecksExpired == TRUE        \* T12 carries the hold's version
RenewsFound == TRUE          \* T2
RereadsWitnesses == TRUE     \* rule 3
ChecksShown == TRUE          \* T14
AsksProof == TRUE            \* a choice that nothing proves is had only while its address is offered
LeavesUndecided == TRUE      \* a hold of a living claim without a choice is no stray
ReadsGone == TRUE            \* a claim is gone when the API server says so, not when a view lacks it
StrangersWait == TRUE        \* quarantine
LooksRegained == TRUE        \* T3 leaves alone what another choice or report shows
LooksByUid == TRUE           \* a hold whose claim has another name than it says is no stray
LeavesOthers == TRUE         \* a report that shows another address than the choice is left alone, and not bound
KnowsReports == TRUE         \* an address that a report or a choice shows is not offered
ParksOwn == TRUE             \* T8 leaves alone what another bound claim shows
SparesUnnamed == TRUE        \* T9 knows which of the reports that name no claim are its own
KnowsCollected == TRUE       \* T13 knows a report whose owner the garbage collector took off
TidiesUp == TRUE             \* a worker looks for strays and for quarantines that are over
LikelyOnly == FALSE          \* views are good enough to choose a free address; for liveness
Yes == TRUE
No == FALSE

VARIABLES claim,    \* name -> None or [uid, dying, guard, choice, moved, bound]
          hold,     \* address -> None or [uid, name, state, dying, over]
          report,   \* name -> None or [uid, address, guard]; an IPAddress. A uid of None: it names no claim
          offered,  \* the addresses the pool offers
          job,      \* worker -> what it is about to send
          acts

vars == <<claim, hold, report, offered, job, acts>>
Perms == Permutations(Names) \union Permutations(Workers) \union Permutations(Uids)
PermsTwo == Perms \union Permutations(Addresses)

Idle == [step |-> "idle", name |-> None, uid |-> None, address |-> None, chosen |-> FALSE, fresh |-> FALSE]
Exists(x) == x # None

---------------------------------------------------------------------------
(* Versions *)
OnClaim == {"choose", "bind", "unguard"}
OnHold == {"renew", "regain", "reap", "expire", "give back"}
OnReport == {"adopt", "sweep"}

(* What is left of the jobs after a write of claim n, hold a, report n. *)
ClaimWritten(jobs, n) ==
  [w \in Workers |-> IF jobs[w].name # n \/ ~jobs[w].fresh THEN jobs[w]
                     ELSE IF jobs[w].step \in OnClaim /\ ChecksClaim THEN Idle
                     ELSE [jobs[w] EXCEPT !.fresh = FALSE]]
HoldWritten(jobs, a) ==
  [w \in Workers |-> IF jobs[w].address = a /\ jobs[w].step \in OnHold \ (IF ChecksExpired THEN {} ELSE {"expire"})
                     THEN Idle ELSE jobs[w]]
ReportWritten(jobs, n) ==
  [w \in Workers |-> IF jobs[w].name = n /\ jobs[w].step \in OnReport THEN Idle ELSE jobs[w]]

Does(w, jobs, j) == job' = [jobs EXCEPT ![w] = j]
Stops(w) == Does(w, job, Idle)
(* The next request of a pass; one that is bound to be refused is not worth a state. *)
Next_(j, step) == IF step \in OnClaim /\ ~j.fresh /\ ChecksClaim THEN Idle ELSE [j EXCEPT !.step = step]
HasHold(j) == IF ~j.chosen THEN Next_(j, "choose") ELSE Next_(j, "report")

---------------------------------------------------------------------------
(* Who has what *)
Holds(uid, a) == Exists(hold[a]) /\ hold[a].state = "held" /\ hold[a].uid = uid
Mine(n) == {a \in Addresses : Holds(claim[n].uid, a)}
Lives(n) == Exists(claim[n]) /\ ~claim[n].dying
OwnReport(n) == Exists(claim[n]) /\ Exists(report[n]) /\ report[n].uid = claim[n].uid
Adoptable(n) == Exists(report[n]) /\ report[n].uid \in {None, claim[n].uid}
(* T9: it names the claim; or it names none, and was named by a provider or shows the choice *)
IsReportOf(r, uid, choice) == \/ r.uid = uid
                              \/ r.uid = None /\ (r.guard \/ r.address = choice \/ ~SparesUnnamed)
ShownByOther(n, a) == \E m \in Names \ {n} : \/ Exists(claim[m]) /\ claim[m].choice = a
                                             \/ Exists(report[m]) /\ report[m].address = a
(* what a reader finds by following a claim to its report *)
Reads(n) == Lives(n) /\ claim[n].bound # "no" /\ OwnReport(n)
BoundToOther(n, a) == \E m \in Names \ {n} : Reads(m) /\ report[m].address = a
(* A claim that is bound, and has hold or report to prove it, minds only others that are bound: any user may write a choice or *)
(* a report.                                                                                                                   *)
Proven(n, a) == Lives(n) /\ claim[n].bound # "no" /\ (Holds(claim[n].uid, a) \/ (OwnReport(n) /\ report[n].address = a))
Disputed(n, a) == IF Proven(n, a) THEN BoundToOther(n, a) ELSE ShownByOther(n, a)
(* Any user may write a choice. That the claim was given it is proven by its hold, or by a report that names it, or no claim. *)
ChoiceProven(n, a) == Holds(claim[n].uid, a) \/ (Adoptable(n) /\ report[n].address = a)
MayHave(n, a) == IF hold[a] = None \/ Holds(claim[n].uid, a) THEN TRUE ELSE hold[a].state = "quarantined" /\ hold[a].name = n
RestsFor(n, a) == Exists(hold[a]) /\ hold[a].state = "quarantined" /\ hold[a].name = n
Regains(n, a) == RestsFor(n, a) /\ ~LooksRegained
Candidates(n) == {a \in offered : (KnowsReports => ~ShownByOther(n, a) \/ Regains(n, a)) /\ (LikelyOnly => MayHave(n, a))}
Quarantined(n) == [uid |-> None, name |-> n, state |-> "quarantined", dying |-> FALSE, over |-> FALSE]
Held(uid, n) == [uid |-> uid, name |-> n, state |-> "held", dying |-> FALSE, over |-> FALSE]

Used(u) == \/ \E n \in Names : Exists(claim[n]) /\ claim[n].uid = u
           \/ \E n \in Names : Exists(report[n]) /\ report[n].uid = u
           \/ \E a \in Addresses : Exists(hold[a]) /\ hold[a].uid = u
           \/ \E w \in Workers : job[w].uid = u

---------------------------------------------------------------------------
(* The world before the first worker: claims another provider has bound, claims it has not, reports with and without either. *)
NewClaim(u) == [uid |-> u, dying |-> FALSE, guard |-> FALSE, choice |-> None, moved |-> FALSE, bound |-> "no"]
Pasts == {"nothing", "bound", "reported", "owned", "alone"}
Init ==
  /\ hold = [a \in Addresses |-> None]
  /\ offered = Addresses
  /\ job = [w \in Workers |-> Idle]
  /\ acts = 0
  /\ \E past \in [Names -> IF Before THEN Pasts ELSE {"nothing"}], at \in [Names -> Addresses], is \in [Names -> Uids] :
       /\ \A m, n \in Names : m # n => is[m] # is[n]
       /\ \A m, n \in Names : m # n /\ past[m] # "nothing" /\ past[n] # "nothing" => at[m] # at[n]
       /\ claim = [n \in Names |-> CASE past[n] \in {"nothing", "alone"} -> None
                                     [] past[n] = "bound" -> [NewClaim(is[n]) EXCEPT !.guard = TRUE, !.bound = "before"]
                                     [] OTHER -> NewClaim(is[n])]
       /\ report = [n \in Names |-> IF past[n] = "nothing" THEN None
                                    ELSE [uid |-> IF past[n] \in {"bound", "owned"} THEN is[n] ELSE None, address |-> at[n],
                                          guard |-> past[n] \in {"bound", "owned"}]]

---------------------------------------------------------------------------
(* People *)
Acts == IF Budget = 0 THEN UNCHANGED acts ELSE acts < Budget /\ acts' = acts + 1
WriteClaim(n, c) == claim' = [claim EXCEPT ![n] = c] /\ job' = ClaimWritten(job, n)

Create(n) ==
  /\ claim[n] = None /\ Acts
  /\ \E u \in Uids : ~Used(u) /\ claim' = [claim EXCEPT ![n] = NewClaim(u)]
  /\ UNCHANGED <<hold, report, offered, job>>
Delete(n) ==
  /\ Lives(n) /\ Acts
  /\ WriteClaim(n, IF claim[n].guard THEN [claim[n] EXCEPT !.dying = TRUE] ELSE None)
  /\ UNCHANGED <<hold, report, offered>>
(* moved from another cluster, or restored: a choice, and no hold here *)
Arrive(n, a) ==
  /\ "arrive" \in Hands /\ claim[n] = None /\ Acts
  /\ \E u \in Uids, guard \in BOOLEAN :
       ~Used(u) /\ claim' = [claim EXCEPT ![n] = [NewClaim(u) EXCEPT !.choice = a, !.guard = guard, !.moved = TRUE]]
  /\ UNCHANGED <<hold, report, offered, job>>
(* a report made by hand, by another provider, or by a move; the claim it is for is not bound yet, or not here yet *)
BringReport(n, a) ==
  /\ "bring report" \in Hands /\ report[n] = None /\ (Exists(claim[n]) => claim[n].bound = "no") /\ Acts
  /\ \E u \in {None} \union (IF Exists(claim[n]) THEN {claim[n].uid} ELSE {}) :
       report' = [report EXCEPT ![n] = [uid |-> u, address |-> a, guard |-> FALSE]]
  /\ UNCHANGED <<claim, hold, offered, job>>
LoseReport(n) ==
  /\ "lose report" \in Hands /\ Exists(report[n]) /\ Acts
  /\ report' = [report EXCEPT ![n] = None] /\ job' = ReportWritten(job, n)
  /\ UNCHANGED <<claim, hold, offered>>
(* choice and finalizer are not taken off a claim that is not bound both at once: that makes it a new claim *)
StripChoice(n) ==
  /\ "strip choice" \in Hands /\ Exists(claim[n]) /\ claim[n].choice # None /\ Acts
  /\ claim[n].guard \/ claim[n].bound # "no"
  /\ WriteClaim(n, [claim[n] EXCEPT !.choice = None, !.moved = FALSE])
  /\ UNCHANGED <<hold, report, offered>>
StripGuard(n) ==
  /\ "strip guard" \in Hands /\ Exists(claim[n]) /\ claim[n].guard /\ Acts
  /\ claim[n].dying \/ claim[n].choice # None \/ claim[n].bound # "no"
  /\ WriteClaim(n, IF claim[n].dying THEN None ELSE [claim[n] EXCEPT !.guard = FALSE])
  /\ UNCHANGED <<hold, report, offered>>
(* a held hold stays, terminating, for its finalizer; one in quarantine goes at once: the administrator says it is free *)
Guarded(a) == GuardsHold /\ (hold[a].state = "held" \/ hold[a].dying)
DeleteHold(a) ==
  /\ "delete hold" \in Hands /\ Exists(hold[a]) /\ ~hold[a].dying /\ Acts
  /\ hold' = [hold EXCEPT ![a] = IF Guarded(a) THEN [@ EXCEPT !.dying = TRUE] ELSE None]
  /\ job' = HoldWritten(job, a)
  /\ UNCHANGED <<claim, report, offered>>
(* an administrator takes the finalizer off as well, under a claim that is bound *)
ForceHold(a) ==
  /\ "force hold" \in Hands /\ Acts
  /\ \E n \in Names : Lives(n) /\ claim[n].bound = "here" /\ Holds(claim[n].uid, a)
  /\ hold' = [hold EXCEPT ![a] = None] /\ job' = HoldWritten(job, a)
  /\ UNCHANGED <<claim, report, offered>>
(* an administrator writes another claim's name on the hold of a bound claim, or puts it to rest for another, where no definition *)
(* refuses it                                                                                                                     *)
UnderBound(a) == \E n \in Names : Lives(n) /\ claim[n].bound = "here" /\ Holds(claim[n].uid, a)
RenameHold(a) ==
  /\ "rename hold" \in Hands /\ UnderBound(a) /\ Acts
  /\ \E m \in Names : hold' = [hold EXCEPT ![a].name = m]
  /\ job' = HoldWritten(job, a)
  /\ UNCHANGED <<claim, report, offered>>
RestHold(a) ==
  /\ "rest hold" \in Hands /\ UnderBound(a) /\ Acts
  /\ \E m \in Names : hold' = [hold EXCEPT ![a] = Quarantined(m)]
  /\ job' = HoldWritten(job, a)
  /\ UNCHANGED <<claim, report, offered>>
Reoffer(a) ==
  /\ "reoffer" \in Hands /\ Acts
  /\ offered' = IF a \in offered THEN offered \ {a} ELSE offered \union {a}
  /\ UNCHANGED <<claim, hold, report, job>>

(* The garbage collector takes owners off what has others left: those that are gone, and those that are deleted in the foreground. *)
Collect(n) ==
  /\ "collect" \in Hands /\ Exists(report[n]) /\ report[n].uid # None
  /\ IF Exists(claim[n]) /\ claim[n].uid = report[n].uid THEN claim[n].dying ELSE TRUE
  /\ report' = [report EXCEPT ![n].uid = None] /\ job' = ReportWritten(job, n)
  /\ UNCHANGED <<claim, hold, offered, acts>>

People == \/ \E n \in Names : Create(n) \/ Delete(n) \/ LoseReport(n) \/ StripChoice(n) \/ StripGuard(n)
          \/ \E n \in Names, a \in Addresses : Arrive(n, a) \/ BringReport(n, a)
          \/ \E a \in Addresses : DeleteHold(a) \/ ForceHold(a) \/ RenameHold(a) \/ RestHold(a) \/ Reoffer(a)
          \/ \E n \in Names : Collect(n)

---------------------------------------------------------------------------
(* A worker looks at a claim, and decides what to ask for. *)
Settled(n) == LET c == claim[n] IN
  c.choice # None /\ c.guard /\ c.bound = "here" /\ Holds(c.uid, c.choice) /\ OwnReport(n) /\ report[n].address = c.choice
Parks(n) == /\ Exists(report[n]) /\ IsReportOf(report[n], claim[n].uid, claim[n].choice)
            /\ Mine(n) = {} /\ hold[report[n].address] = None
            /\ ParksOwn => ~BoundToOther(n, report[n].address)
Look(w, n) ==
  LET c == claim[n]
      Asks(step, a, chosen) == Does(w, job, [step |-> step, name |-> n, uid |-> c.uid, address |-> a, chosen |-> chosen, fresh |-> TRUE])
      Unlocked(a) == hold[a] = None \/ c.choice = None \/ hold[a].state = "quarantined"
      Takes(a, chosen) == (KnowsReports /\ Unlocked(a) => ~Disputed(n, a) \/ Regains(n, a)) /\ Asks("take", a, chosen) IN
  /\ job[w] = Idle /\ Exists(c)
  /\ CASE c.dying /\ Parks(n) -> Asks("park", report[n].address, FALSE)
       [] c.dying -> Asks("unreport", c.choice, FALSE)
       [] c.choice # None -> /\ ~Settled(n)
                             /\ AsksProof => ChoiceProven(n, c.choice) \/ c.choice \in offered  \* else: waits for it, and says why
                             /\ Takes(c.choice, c.guard)
       [] c.choice = None /\ Adoptable(n) -> Takes(report[n].address, FALSE)
       [] c.choice = None /\ ~Adoptable(n) /\ RereadsWitnesses /\ (c.guard \/ c.bound # "no") /\ Mine(n) # {} ->
            \E a \in Mine(n) : Mine(n) = {a} /\ Takes(a, FALSE)                     \* several: which it was is forgotten, and said so
       [] OTHER -> /\ RereadsWitnesses => c.bound = "no"                         \* else: lost, and said so
                   /\ \E a \in Candidates(n) \union Mine(n) : Takes(a, FALSE)
  /\ UNCHANGED <<claim, hold, report, offered, acts>>

(* T1 *)
Take(w) ==
  LET j == job[w] n == j.name a == j.address h == hold[a] IN
  /\ j.step = "take"
  /\ IF ~TakesHold THEN Does(w, job, HasHold(j)) /\ UNCHANGED hold
     ELSE IF h = None \/ ~CreatesHold
     THEN /\ hold' = [hold EXCEPT ![a] = Held(j.uid, n)]
          /\ Does(w, HoldWritten(job, a), IF ChecksShown /\ Disputed(n, a) THEN Next_(j, "give back") ELSE HasHold(j))
     ELSE /\ UNCHANGED hold
          /\ CASE Holds(j.uid, a) -> Does(w, job, IF RenewsFound THEN Next_(j, "renew") ELSE HasHold(j))
               [] h.state = "quarantined" /\ (h.name = n \/ ~StrangersWait) ->
                    IF LooksRegained /\ Disputed(n, a) THEN Stops(w) ELSE Does(w, job, Next_(j, "regain"))
               [] OTHER -> Stops(w)                                              \* another claim's
  /\ UNCHANGED <<claim, report, offered, acts>>
(* T2 *)
Renew(w) ==
  /\ job[w].step = "renew"
  /\ Does(w, HoldWritten(job, job[w].address), HasHold(job[w]))
  /\ UNCHANGED <<claim, hold, report, offered, acts>>
(* T3 *)
Regain(w) ==
  LET j == job[w] a == j.address IN
  /\ j.step = "regain"
  /\ hold' = [hold EXCEPT ![a] = [Held(j.uid, j.name) EXCEPT !.dying = hold[a].dying]]
  /\ Does(w, HoldWritten(job, a), HasHold(j))
  /\ UNCHANGED <<claim, report, offered, acts>>
(* T4 *)
Choose(w) ==
  LET j == job[w] n == j.name c == claim[n] IN
  /\ j.step = "choose"
  /\ IF Exists(c) /\ ~c.dying /\ (ChecksClaim => c.choice \in {None, j.address})
     THEN /\ claim' = [claim EXCEPT ![n] = [@ EXCEPT !.choice = j.address, !.guard = TRUE,
                                                     !.bound = IF @ = "before" THEN "here" ELSE @]]
          /\ Does(w, ClaimWritten(job, n), Next_(j, "report"))
     ELSE UNCHANGED claim /\ Stops(w)
  /\ UNCHANGED <<hold, report, offered, acts>>
(* T5 *)
Report(w) ==
  LET j == job[w] n == j.name r == report[n] IN
  /\ j.step = "report"
  /\ CASE r = None -> /\ report' = [report EXCEPT ![n] = [uid |-> j.uid, address |-> j.address, guard |-> TRUE]]
                      /\ Does(w, job, Next_(j, "bind"))
       [] Exists(r) /\ (r.address = j.address \/ ~LeavesOthers) /\ r.uid = j.uid -> UNCHANGED report /\ Does(w, job, Next_(j, "bind"))
       [] Exists(r) /\ r.address = j.address /\ r.uid = None -> UNCHANGED report /\ Does(w, job, Next_(j, "adopt"))
       [] OTHER -> UNCHANGED report /\ Stops(w)                                  \* another claim's, or of another address
  /\ UNCHANGED <<claim, hold, offered, acts>>
(* T6 *)
Adopt(w) ==
  LET j == job[w] n == j.name IN
  /\ j.step = "adopt"
  /\ report' = [report EXCEPT ![n] = [@ EXCEPT !.uid = j.uid, !.guard = TRUE]]
  /\ Does(w, ReportWritten(job, n), Next_(j, "bind"))
  /\ UNCHANGED <<claim, hold, offered, acts>>
(* T7 *)
Bind(w) ==
  LET j == job[w] n == j.name c == claim[n] IN
  /\ j.step = "bind"
  /\ IF Exists(c) /\ ~c.dying /\ c.bound # "here"
     THEN /\ claim' = [claim EXCEPT ![n] = [@ EXCEPT !.bound = "here", !.moved = FALSE]]
          /\ Does(w, ClaimWritten(job, n), Idle)
     ELSE UNCHANGED claim /\ Stops(w)
  /\ UNCHANGED <<hold, report, offered, acts>>

---------------------------------------------------------------------------
(* Giving back *)
(* T8: another provider's claim goes, and never had a hold *)
Park(w) ==
  LET j == job[w] a == j.address IN
  /\ j.step = "park"
  /\ hold' = IF hold[a] = None THEN [hold EXCEPT ![a] = Quarantined(j.name)] ELSE hold
  /\ Does(w, job, Next_(j, "unreport"))
  /\ UNCHANGED <<claim, report, offered, acts>>
(* T9 *)
Unreport(w) ==
  LET j == job[w] n == j.name next == [Next_(j, "quarantine") EXCEPT !.address = None] IN
  /\ j.step = "unreport"
  /\ IF Exists(report[n]) /\ IsReportOf(report[n], j.uid, j.address)
     THEN report' = [report EXCEPT ![n] = None] /\ Does(w, ReportWritten(job, n), next)
     ELSE UNCHANGED report /\ Does(w, job, next)
  /\ UNCHANGED <<claim, hold, offered, acts>>
(* T10, one request per hold; a hold that it misses is a stray soon *)
ToQuarantine(a) == [Quarantined(hold[a].name) EXCEPT !.dying = hold[a].dying]
Quarantine(w) ==
  LET j == job[w] IN
  /\ j.step = "quarantine"
  /\ \/ \E a \in Addresses : /\ Holds(j.uid, a)
                             /\ hold' = [hold EXCEPT ![a] = ToQuarantine(a)] /\ job' = HoldWritten(job, a)
     \/ (LikelyOnly => \A a \in Addresses : ~Holds(j.uid, a)) /\ UNCHANGED hold /\ Does(w, job, Next_(j, "unguard"))
  /\ UNCHANGED <<claim, report, offered, acts>>
(* T11 *)
Unguard(w) ==
  LET j == job[w] n == j.name c == claim[n] IN
  /\ j.step = "unguard"
  /\ IF Exists(c) /\ c.dying
     THEN claim' = [claim EXCEPT ![n] = None] /\ Does(w, ClaimWritten(job, n), Idle)
     ELSE UNCHANGED claim /\ Stops(w)
  /\ UNCHANGED <<hold, report, offered, acts>>

---------------------------------------------------------------------------
(* Housekeeping: look, then act by version on what was seen *)
Gone(n, uid) == IF Exists(claim[n]) THEN claim[n].uid # uid ELSE TRUE
Stray(a) == LET h == hold[a] n == h.name IN
  /\ h.state = "held"
  /\ IF Gone(n, h.uid) \/ ~ReadsGone
     THEN LooksByUid => \A m \in Names : Exists(claim[m]) => claim[m].uid # h.uid \/ claim[m].choice # a \/ m = n
     ELSE /\ claim[n].choice \notin {a} \union (IF LeavesUndecided THEN {None} ELSE {})
          /\ ~(OwnReport(n) /\ report[n].address = a)
Collected(n) == report[n].uid = None /\ report[n].guard /\ claim[n] = None
StrayReport(n) == (report[n].uid # None /\ Gone(n, report[n].uid)) \/ Collected(n)
Sees(w, step, n, a) == TidiesUp /\ job[w] = Idle /\ Does(w, job, [Idle EXCEPT !.step = step, !.name = n, !.address = a])
                       /\ UNCHANGED <<claim, hold, report, offered, acts>>
SeeStray(w, a) == Exists(hold[a]) /\ Stray(a) /\ Sees(w, "reap", None, a)
SeeExpired(w, a) == Exists(hold[a]) /\ hold[a].over /\ Sees(w, "expire", None, a)
SeeStrayReport(w, n) == Exists(report[n]) /\ StrayReport(n) /\ (Collected(n) => KnowsCollected) /\ Sees(w, "sweep", n, None)
(* T10 *)
Reap(w) ==
  LET a == job[w].address IN
  /\ job[w].step = "reap"
  /\ hold' = [hold EXCEPT ![a] = ToQuarantine(a)] /\ Does(w, HoldWritten(job, a), Idle)
  /\ UNCHANGED <<claim, report, offered, acts>>
(* T12 *)
Expire(w) ==
  LET a == job[w].address IN
  /\ job[w].step = "expire"
  /\ hold' = [hold EXCEPT ![a] = None] /\ Does(w, HoldWritten(job, a), Idle)
  /\ UNCHANGED <<claim, report, offered, acts>>
(* T13 *)
Sweep(w) ==
  LET n == job[w].name IN
  /\ job[w].step = "sweep"
  /\ report' = [report EXCEPT ![n] = None] /\ Does(w, ReportWritten(job, n), Idle)
  /\ UNCHANGED <<claim, hold, offered, acts>>
(* T14 *)
GiveBack(w) ==
  LET a == job[w].address IN
  /\ job[w].step = "give back"
  /\ hold' = [hold EXCEPT ![a] = None] /\ Does(w, HoldWritten(job, a), Idle)
  /\ UNCHANGED <<claim, report, offered, acts>>

Crash(w) == job[w] # Idle /\ Acts /\ Stops(w) /\ UNCHANGED <<claim, hold, report, offered>>
(* time passes: no write, so no version changes *)
TimeIsUp(a) == /\ Exists(hold[a]) /\ hold[a].state = "quarantined" /\ ~hold[a].over
               /\ hold' = [hold EXCEPT ![a].over = TRUE]
               /\ UNCHANGED <<claim, report, offered, job, acts>>

Sends(w) == \/ Take(w) \/ Renew(w) \/ Regain(w) \/ Choose(w) \/ Report(w) \/ Adopt(w) \/ Bind(w)
            \/ Park(w) \/ Unreport(w) \/ Quarantine(w) \/ Unguard(w)
            \/ Reap(w) \/ Expire(w) \/ Sweep(w) \/ GiveBack(w)
Next == \/ People
        \/ \E w \in Workers : \/ Sends(w) \/ Crash(w)
                              \/ \E n \in Names : Look(w, n) \/ SeeStrayReport(w, n)
                              \/ \E a \in Addresses : SeeStray(w, a) \/ SeeExpired(w, a)
        \/ \E a \in Addresses : TimeIsUp(a)
Spec == Init /\ [][Next]_vars

---------------------------------------------------------------------------
(* What is promised, at every moment *)

(* A bound claim's address is held by it, so by no other claim, whichever of the other witnesses people removed; *)
(* and the report that a reader finds by following the claim shows that address.                                 *)
HonestBound == \A n \in Names : Lives(n) /\ claim[n].bound = "here" =>
  \E a \in Mine(n) : claim[n].choice \in {a, None} /\ (OwnReport(n) => report[n].address = a)
(* What another provider has bound is held by no other claim either, until it is ours. *)
HonestPast == \A n \in Names : Lives(n) /\ claim[n].bound = "before" /\ OwnReport(n) =>
  LET h == hold[report[n].address] IN h = None \/ h.uid = claim[n].uid
(* A reader never finds one address behind two claims. *)
NoTwin == \A m, n \in Names : m # n /\ Reads(m) /\ Reads(n) => report[m].address # report[n].address
(* Nor do two living claims, bound or not, show one address, unless a user, another provider or a move made a report. *)
NoTwinReport == ("bring report" \notin Hands) =>
  \A m, n \in Names : m # n /\ Lives(m) /\ Lives(n) /\ OwnReport(m) /\ OwnReport(n) => report[m].address # report[n].address
(* A choice has its hold until its claim is on its way out. One that has just arrived has none yet, and is not bound. *)
ChoiceHeld == \A n \in Names : Lives(n) /\ claim[n].choice # None /\ ~claim[n].moved => Holds(claim[n].uid, claim[n].choice)

(* What is promised of every step *)

(* A held address goes into quarantine under its owner's name; from there to its owner, or, when the time is over, it is free. *)
ByHand(a) == DeleteHold(a) \/ ForceHold(a) \/ RenameHold(a) \/ RestHold(a)
Lawful(a) == LET h == hold[a] g == hold'[a] IN
  \/ h = None \/ h = g \/ ByHand(a)
  \/ h.state = "held" /\ Exists(g) /\ g.name = h.name /\ (g.state = "held" => g.uid = h.uid)
  \/ h.state = "quarantined" /\ Exists(g) /\ g.name = h.name
  \/ h.state = "quarantined" /\ h.over /\ g = None
  \/ \E w \in Workers : job[w].step = "give back" /\ job[w].address = a
NoEarlyReuse == [][\A a \in Addresses : Lawful(a)]_vars
(* No claim is sent to an address that is not offered, except the one that has it: by a hold, or by a report. *)
NothingNew == [][\A w \in Workers : job[w] = Idle /\ job'[w].step = "take" /\ job'[w].address \notin offered =>
                   LET n == job'[w].name a == job'[w].address IN
                   (Adoptable(n) /\ report[n].address = a) \/ a \in Mine(n)]_vars
(* A report that names a living claim is only ever removed by people. So is one that names no claim and that no provider has *)
(* had, unless it shows the choice of a claim of its name on its way out.                                                    *)
GoesWithClaim(n) == \E w \in Workers : job[w].step = "unreport" /\ job[w].name = n /\ job[w].address = report[n].address
OthersKept == [][\A n \in Names : Exists(report[n]) /\ report'[n] = None =>
                   \/ LoseReport(n)
                   \/ IF report[n].uid = None THEN report[n].guard \/ GoesWithClaim(n)
                      ELSE ~(Lives(n) /\ claim[n].uid = report[n].uid)]_vars
(* The address of a bound claim does not change. *)
SameAddress == [][\A n \in Names : Reads(n) /\ Reads(n)' /\ claim[n].uid = claim'[n].uid => report[n].address = report'[n].address]_vars

---------------------------------------------------------------------------
(* What comes about, once people rest *)
Fair == /\ \A w \in Workers : WF_vars(Sends(w))
        /\ \A w \in Workers, n \in Names : SF_vars(Look(w, n)) /\ SF_vars(SeeStrayReport(w, n))
        /\ \A w \in Workers, a \in Addresses : SF_vars(SeeStray(w, a)) /\ SF_vars(SeeExpired(w, a))
        /\ \A a \in Addresses : WF_vars(TimeIsUp(a))
FairSpec == Spec /\ Fair

(* A claim that is not bound has a reason: its report shows another address than its choice; what it asks for is another's, or there *)
(* is nothing left to ask for; it was bound and nothing remembers to what; several holds are in its name and nothing says which;      *)
(* nothing proves its choice, which is not offered.                                                                                   *)
Wants(n) == IF claim[n].choice # None THEN {claim[n].choice}
            ELSE IF Adoptable(n) THEN {report[n].address}
            ELSE Mine(n) \union {a \in offered : ~ShownByOther(n, a)}
Contradicted(n) == claim[n].choice # None /\ Exists(report[n]) /\ report[n].address # claim[n].choice
Refused(n) == \A a \in Wants(n) :
  ~MayHave(n, a) \/ ((hold[a] = None \/ claim[n].choice = None \/ hold[a].state = "quarantined") /\ Disputed(n, a))
Forgotten(n) == claim[n].choice = None /\ ~Adoptable(n) /\ (claim[n].bound # "no" \/ claim[n].guard) /\
                Cardinality(Mine(n)) # 1 /\ (Mine(n) = {} => claim[n].bound # "no")
Unproven(n) == claim[n].choice # None /\ ~ChoiceProven(n, claim[n].choice) /\ claim[n].choice \notin offered
EventuallyBound == <>[](\A n \in Names : Lives(n) => Settled(n) \/ Contradicted(n) \/ Refused(n) \/ Forgotten(n) \/ Unproven(n))
EventuallyGone == <>[](\A n \in Names : Exists(claim[n]) => ~claim[n].dying)
EventuallyTidy == <>[](/\ \A a \in Addresses : Exists(hold[a]) => hold[a].state = "held" /\ ~Stray(a)
                       /\ \A n \in Names : Exists(report[n]) => ~StrayReport(n))
=============================================================================
