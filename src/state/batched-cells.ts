import type { CellName, CellRead, CellStore } from '../ports/state.ts';

/** The same cells, where texts that are asked for at the same moment are read at once: a run needs its lane and the budget together. */
export function batchReads(cells: CellStore): CellStore {
  let batch: { readonly names: Set<CellName>; readonly texts: Promise<ReadonlyMap<CellName, CellRead>> } | null = null;

  return {
    ...cells,
    async read(names) {
      batch ??= open();
      const { texts, names: asked } = batch;
      names.forEach((name) => asked.add(name));
      const found = await texts;
      return names.map((name) => found.get(name) ?? { kind: 'unavailable', why: `the ${cells.place} did not answer` });
    },
  };

  function open(): NonNullable<typeof batch> {
    const names = new Set<CellName>();
    const texts = Promise.resolve().then(async () => {
      batch = null;
      const asked = [...names];
      const read = await cells.read(asked);
      return new Map(asked.map((name, index) => [name, read[index] ?? { kind: 'absent' as const }]));
    });
    return { names, texts };
  }
}
