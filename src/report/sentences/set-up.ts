import { type Finding, FINDING_MARKS } from '../../core/doctor/finding.ts';
import { flattenText, capitalizeFirst } from '../../core/text/phrase.ts';
import { formatCount } from '../format.ts';
import { renderCode, renderCodeElement, renderLink, renderProse } from '../markdown.ts';

const MAX_CHARS = 1_000;

/** Counts the findings that are not fine, or renders `✓ Nothing stops a run.` */
export function summarizeSetUp(findings: readonly Pick<Finding, 'kind'>[]): string {
  const number = (wanted: Finding['kind']): number => findings.filter(({ kind }) => kind === wanted).length;
  const [problems, warnings, open] = [number('problem'), number('warning'), number('unchecked')];
  const result = [
    ...(problems === 0 ? [] : [`${FINDING_MARKS.problem} ${formatCount(problems, 'problem')}`]),
    ...(warnings === 0 ? [] : [`${FINDING_MARKS.warning} ${formatCount(warnings, 'warning')}`]),
    ...(open === 0 ? [] : [`${FINDING_MARKS.unchecked} ${String(open)} not checked`]),
  ];
  return result.length === 0 ? `${FINDING_MARKS.ok} Nothing stops a run.` : result.join(', ');
}

/** Renders plain lines: each finding, with its fix below. */
export function describeSetUp(findings: readonly Finding[]): readonly string[] {
  const several = namesPlaces(findings);
  return foldUnseen(findings).flatMap((found) => [
    `${FINDING_MARKS[found.kind]} ${placeOfFinding(found, several)}${found.says}`,
    ...(found.remedy === null
      ? []
      : [
          `    ${found.remedy.text}${found.remedy.link === null ? '' : ` ${found.remedy.link}`}`,
          ...(found.remedy.paste?.split('\n').map((line) => `      ${line}`) ?? []),
        ]),
  ]);
}

/** Renders Markdown: the findings that are not fine, worst first, and the rest folded. */
export function renderSetUp(findings: readonly Finding[]): string {
  const several = namesPlaces(findings);
  const items = (...kinds: readonly Finding['kind'][]): readonly string[] =>
    kinds.flatMap((wanted) =>
      foldUnseen(findings)
        .filter(({ kind }) => kind === wanted)
        .map((found) => item(found, several)),
    );
  const good = items('ok');
  const others = items('problem', 'warning', 'unchecked');
  return [
    `**Set-up:** ${summarizeSetUp(findings)}`,
    ...(others.length === 0 ? [] : [others.join('\n')]),
    ...(good.length === 0
      ? []
      : [
          `<details>\n<summary>${formatCount(good.length, 'check')} fine</summary>\n\n${good.join('\n')}\n\n</details>`,
        ]),
    ...(findings.some(({ kind }) => kind === 'unchecked')
      ? ['<sub>`ralph doctor` on your own machine sees what the token of a run cannot.</sub>']
      : []),
  ].join('\n\n');
}

/** Combines the unchecked findings that have the same reason into one, and moves them to the end. */
function foldUnseen(findings: readonly Finding[]): readonly Finding[] {
  const byReason = Map.groupBy(findings, (found) => unseenParts(found)?.why ?? '');
  const shared = [...byReason].filter(([why, alike]) => why !== '' && alike.length > 1);
  const folded = shared.flatMap(([why, alike]) => {
    const subjects = new Set(alike.map((found) => unseenParts(found)?.what ?? ''));
    const says = `Not checked: ${[...subjects].join('; ')}.`;
    const pages = [...new Set(alike.flatMap((found) => found.remedy?.link ?? []))];
    const look = pages.length === 0 ? null : pages.join('\n');
    const text = `${capitalizeFirst(why)}${look === null ? '' : ' Or check it yourself:'}`;
    const remedy = { text, paste: look, link: null };
    return alike.slice(0, 1).map((found) => ({ ...found, where: null, says, remedy }));
  });
  return [...findings.filter((found) => !shared.some(([, alike]) => alike.includes(found))), ...folded];
}

/** Splits the sentence of an unchecked finding into what it is about and the reason; null where there is none. */
function unseenParts({ kind, says }: Finding): { readonly what: string; readonly why: string } | null {
  const { what, why } = /^Could not check (?<what>.*?): (?<why>.*)$/s.exec(says)?.groups ?? {};
  return kind !== 'unchecked' || what === undefined || why === undefined ? null : { what, why };
}

function item(found: Finding, several: boolean): string {
  const { remedy } = found;
  const place = placeOfFinding(found, several);
  const opening = `- ${FINDING_MARKS[found.kind]} ${place === '' ? '' : `${renderCode(place.slice(0, -2), 120)}: `}${renderProse(flattenText(found.says), MAX_CHARS)}`;
  if (remedy === null) return opening;
  const page = remedy.link === null ? '' : ` ${renderLink('Open the page', remedy.link)}.`;
  const paste = remedy.paste ?? '';
  if (paste.includes('\n')) return `${opening} ${renderProse(remedy.text, MAX_CHARS)}${page}\n\n${block(paste)}\n`;
  return `${opening} ${renderProse(remedy.text, MAX_CHARS)}${page}${paste === '' ? '' : ` ${renderCode(paste, MAX_CHARS)}`}`;
}

/** Renders lines to paste; like in a fence, nothing is put between their characters. */
function block(paste: string): string {
  const lines = paste.split('\n').map((line) => line.replace(/\S.*$/, (words) => renderCodeElement(words, MAX_CHARS)));
  return `  <pre>${lines.join('\n  ')}</pre>`;
}

/** Returns true if several files have findings, so that each finding names its file. */
function namesPlaces(findings: readonly Pick<Finding, 'where'>[]): boolean {
  return new Set(findings.flatMap(({ where }) => where ?? [])).size > 1;
}

function placeOfFinding({ where }: Finding, several: boolean): string {
  return several && where !== null ? `${where}: ` : '';
}
