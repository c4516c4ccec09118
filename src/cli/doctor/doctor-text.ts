import { count } from '../../report/format.ts';
import type { Diagnosis } from './doctor-schema.ts';

type Found = Diagnosis['findings'][number];

const marks: Readonly<Record<Found['kind'], string>> = { ok: '✓', warning: '⚠', problem: '✗', unchecked: '⚠' };

/** The diagnosis as a person reads it: a line for each check, with its fix below. */
export function renderDiagnosis({ repository, findings }: Diagnosis): string {
  const several = new Set(findings.flatMap(({ where }) => where ?? [])).size > 1;
  const number = (...kinds: readonly Found['kind'][]): number =>
    findings.filter(({ kind }) => kinds.includes(kind)).length;
  const [problems, warnings, open] = [number('problem'), number('warning'), number('unchecked')];
  const result = [
    ...(problems === 0 ? [] : [`✗ ${count(problems, 'problem')}`]),
    ...(warnings === 0 ? [] : [`⚠ ${count(warnings, 'warning')}`]),
    ...(open === 0 ? [] : [`⚠ ${String(open)} not checked`]),
  ];
  return [
    ...(repository === null ? [] : [repository, '']),
    ...findings.flatMap((found) => lines(found, several)),
    '',
    result.length === 0 ? '✓ Nothing stops a run.' : result.join(', '),
    '',
  ].join('\n');
}

function lines({ kind, where, says, fix }: Found, several: boolean): readonly string[] {
  const place = several && where !== null ? `${where}: ` : '';
  return [
    `${marks[kind]} ${place}${says}`,
    ...(fix === null
      ? []
      : [
          `    ${fix.text}${fix.link === null ? '' : ` ${fix.link}`}`,
          ...(fix.paste?.split('\n').map((line) => `      ${line}`) ?? []),
        ]),
  ];
}
