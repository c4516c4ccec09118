import { emptyBudget, parseBudget, serializeBudget, type Budget } from '../core/sharing/budget.ts';
import type { BudgetStore, CellHead, CellStore, ReadBudget } from '../ports/state.ts';

/** No lane is called so: lanes are `queue` and `issue-N`. */
const BUDGET = 'budget';
/** Several lanes may settle at the same moment. */
const MAX_TRIES = 8;

type Looked =
  | (ReadBudget & { readonly kind: 'budget'; readonly head: CellHead | null })
  | Extract<ReadBudget, { kind: 'unavailable' }>;

/** The budget in a compare-and-swap cell of its own. */
export function createBudgetStore(cells: CellStore, now: () => number): BudgetStore {
  return { read, update };

  async function read(): Promise<ReadBudget> {
    const looked = await look();
    // Written at once: "used up from now on" must not begin again with every look.
    return looked.kind === 'budget' && looked.problem !== null ? update((budget) => budget) : looked;
  }

  async function update(change: (budget: Budget) => Budget): Promise<ReadBudget> {
    for (let tried = 0; tried < MAX_TRIES; tried += 1) {
      const looked = await look();
      if (looked.kind === 'unavailable') return looked;
      const budget = change(looked.budget);
      if (budget === looked.budget && looked.problem === null) return looked;
      const written = await cells.write(BUDGET, looked.head, serializeBudget(budget));
      if (written.kind === 'written') return { kind: 'budget', budget, problem: looked.problem };
      if (written.kind === 'refused' || written.kind === 'unavailable')
        return { kind: 'unavailable', why: written.why };
    }
    return { kind: 'unavailable', why: `it changed ${MAX_TRIES} times while it was being written` };
  }

  async function look(): Promise<Looked> {
    const [found] = await cells.read([BUDGET]);
    if (found === undefined || found.kind === 'unavailable')
      return { kind: 'unavailable', why: found?.why ?? `the ${cells.place} did not answer` };
    if (found.kind === 'absent') return { kind: 'budget', budget: emptyBudget, problem: null, head: null };
    const parsed = parseBudget(found.text, now());
    if (parsed.kind === 'newer')
      return {
        kind: 'unavailable',
        why: `it was written by a newer version of this action (version ${parsed.version})`,
      };
    return { ...parsed, head: found.head };
  }
}
