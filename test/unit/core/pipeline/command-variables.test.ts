import { expect, test } from 'vitest';
import { unsetIn } from '../../../../src/core/pipeline/reading/command-variables.ts';
import { cpuMs } from '../../../cpu.ts';

test.each<[string, readonly string[]]>([
  ['rm -rf build/${DIR}', ['DIR']],
  ['rm -rf "build/${DIR}"', ['DIR']],
  ['echo ${A} ${B} ${A}', ['A', 'B']],
  ['echo "$(ls \'${A}\' ${B})"', ['B']],
  ['echo "it\'s ${A}"', ['A']],
  ['echo a#b ${A}', ['A']],
  ['echo ${SEEN} ${HOME} ${PWD} ${RANDOM} ${UID}', []],
  ['echo ${A:-x} ${A-x} ${A:?no} ${#A} $A ${1} ${?}', []],
  ['A=1; echo ${A}', []],
  ['A+=1; echo ${A}', []],
  [': ${A:=1}; echo ${A}', []],
  ['env A=1 sh -c "x ${A}"', []],
  ['for f in *.ts; do echo ${f}; done', []],
  ['while read -r line; do echo ${line}; done < a', []],
  ['printf -v out x; echo ${out}', []],
  ['local a b; echo ${b}', []],
  ["echo '${A}'", []],
  ["echo $'it\\'s ${A}'", []],
  ['echo \\${A} "\\${A}"', []],
  ['# uses ${A}\necho b', []],
  ["cat <<'EOF'\n${A}\nEOF", []],
  ['. ./env.sh\necho ${A}', []],
  ['source env.sh && echo ${A}', []],
  ['eval "$(tool env)"; echo ${A}', []],
  ['BAA=1; echo ${A}', ['A']],
  ['echo A=${A}', []],
])('%j names what nobody sets: %j', (command, names) => {
  expect(unsetIn(command, { SEEN: '' })).toEqual(names);
});

test('a long command takes no time', () => {
  const cost = cpuMs(() => {
    for (const part of ['${A', "'", '"', '$(', '# ', 'read ', '${A} ']) unsetIn(part.repeat(10_000 / part.length), {});
  });
  expect(cost).toBeLessThan(1000);
});
