import type { TaskId } from '../ids.ts';
import { isBoxDone, parseBoxes, stripTitleMarks, type PlanBox } from './plan.ts';

/** The texts of one plan: at the commit where the lane left the base branch, on the lane, and on the base branch. */
interface PlanSides {
  readonly fork: string;
  readonly lane: string;
  readonly base: string;
}

/**
 * Merges a plan in which both sides only ticked boxes and added lines, as runs and `ralph add` do: a box that either
 * side ticked is ticked, and the lines of both sides are added at their places. Returns null for any other difference,
 * and if the result does not have exactly the boxes of both sides.
 */
export function mergePlans({ fork, lane, base }: PlanSides): string | null {
  const forkLines = fork.split('\n');
  const ofLane = growthOf(forkLines, lane.split('\n'));
  const ofBase = growthOf(forkLines, base.split('\n'));
  if (ofLane === null || ofBase === null) return null;
  const kept = forkLines.map((line, index) => {
    const [ours = line, theirs = line] = [ofLane.kept[index], ofBase.kept[index]];
    return ours === line ? theirs : ours;
  });
  const mergedWith = (first: Growth, second: Growth): string => {
    const addedAt = (index: number): readonly string[] => {
      const [one, other] = [first.added[index] ?? [], second.added[index] ?? []];
      return one.join('\n') === other.join('\n') ? one : [...one, ...other];
    };
    return [...kept.flatMap((line, index) => [...addedAt(index), line]), ...addedAt(kept.length)].join('\n');
  };
  const texts = [mergedWith(ofLane, ofBase), mergedWith(ofBase, ofLane)];
  return texts.find((text) => hasBoxesOf(text, { fork, lane, base })) ?? null;
}

/**
 * A text as the lines of an older one, ticked or not, and the lines that were added before each of them and at the end.
 */
interface Growth {
  readonly kept: readonly string[];
  readonly added: readonly (readonly string[])[];
}

/** Returns the growth between two texts; null if a line of the older one is gone, or is changed by more than a tick. */
function growthOf(before: readonly string[], after: readonly string[]): Growth | null {
  const kept: string[] = [];
  const added: string[][] = [[]];
  for (const line of after) {
    const old = before[kept.length];
    if (old !== undefined && (line === old || isTicked(old, line))) {
      kept.push(line);
      added.push([]);
    } else added.at(-1)?.push(line);
  }
  return kept.length === before.length ? { kept, added } : null;
}

const BOX_LINE = /^(\s*(?:[-*+]|\d{1,9}[.)])[ \t]+)\[([^[\]\\])\uFE0F?\](\s[^\r]*)(\r?)$/u;

/** Returns true if a line is the open box `old`, ticked. */
function isTicked(old: string, line: string): boolean {
  const [before, after] = [BOX_LINE.exec(old), BOX_LINE.exec(line)];
  if (before === null || after === null) return false;
  const [, bulletBefore, markBefore = '', titleBefore = '', endBefore] = before;
  const [, bullet, mark = '', title = '', end] = after;
  return (
    !isBoxDone({ mark: markBefore }) &&
    isBoxDone({ mark }) &&
    bullet === bulletBefore &&
    end === endBefore &&
    stripTitleMarks(title) === stripTitleMarks(titleBefore)
  );
}

/**
 * Returns true if a merged plan has each box of both sides and no other. Each box must have the text and headings of
 * the side that changed them, and be ticked if either side ticked it.
 */
function hasBoxesOf(text: string, { fork, lane, base }: PlanSides): boolean {
  const [merged, before, ours, theirs] = [text, fork, lane, base].map((plan) => boxesById(plan));
  if (!merged || !before || !ours || !theirs) return false;
  const ids = new Set([...ours.keys(), ...theirs.keys()]);
  return (
    merged.size === ids.size &&
    [...ids].every((id) => {
      const found = merged.get(id);
      const old = before.get(id);
      const sides = [ours.get(id), theirs.get(id)].filter((box) => box !== undefined);
      const changed = new Set(sides.map(shapeOf));
      if (changed.size > 1 && old !== undefined) changed.delete(shapeOf(old));
      return (
        found !== undefined &&
        changed.size === 1 &&
        changed.has(shapeOf(found)) &&
        isBoxDone(found) === sides.some((side) => isBoxDone(side))
      );
    })
  );
}

/** Returns the boxes by id, or null if the plan is too long. */
function boxesById(plan: string): ReadonlyMap<TaskId, PlanBox> | null {
  const boxes = parseBoxes(plan);
  return boxes === null ? null : new Map(boxes.map((box) => [box.id, box]));
}

/** Returns everything that a plan says about a box except for its title and outer boxes, from which its id is made. */
function shapeOf({ body, headings }: PlanBox): string {
  return JSON.stringify([body, headings]);
}
