import { expect, test } from 'vitest';
import { findUnsetVariables, findNeededVariables } from '../../../../src/core/pipeline/reading/command-variables.ts';
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
  expect(findUnsetVariables(command, { SEEN: '' })).toEqual(names);
});

test.each<[string, readonly string[]]>([
  ['test "$FROM_SETUP" = yes', ['FROM_SETUP']],
  ['test $FROM_SETUP = yes && echo ${OTHER}', ['FROM_SETUP', 'OTHER']],
  ['cd ${DIR%/} && ls ${#NAMES} ${!REF} ${A:?no}', ['DIR', 'NAMES', 'REF', 'A']],
  ['echo "$(cat $FILE)" `cat $LIST`', ['FILE', 'LIST']],
  ['echo ${A:-${B}}', ['B']],
  ['export API_URL=$FROM_SETUP && npm test', ['FROM_SETUP']],
  ['printf "%s" "$FROM_SETUP" | grep yes', ['FROM_SETUP']],
  ['for f in $FILES; do read -r line <<< "$f$TAIL"; echo $line; done', ['FILES', 'TAIL']],
  ['local a=${B%/} c; echo $c', ['B']],
  ['make CC=$CC && URL="${URL}" npm test', ['CC', 'URL']],
  ['LIBRARIES=$LIBRARIES:lib npm test', []],
  ['TAG=x; docker build -t $TAG .', []],
  ['export TAG=x && echo $TAG', []],
  ['for f in *.ts; do echo $f; done', []],
  ['echo ${DEBUG:-} ${DEBUG-x} ${DEBUG:+--debug} ${DEBUG:=1}', []],
  ["awk '{print $NF}' file", []],
  ["echo 'it costs $PRICE'", []],
  ['echo \\$PRICE "\\$PRICE"', []],
  ['echo $$NAME $? $1 $@ $HOME $PWD $RANDOM', []],
  ['# uses $A\nnpm test', []],
  ['npm test', []],
])('%j needs the values of %j', (command, names) => {
  expect(findNeededVariables(command)).toEqual(names);
});

test('a long command takes no time', () => {
  const cost = cpuMs(() => {
    for (const part of ['${A', "'", '"', '$(', '# ', 'read ', '${A} ', '$A ']) {
      findUnsetVariables(part.repeat(10_000 / part.length), {});
      findNeededVariables(part.repeat(10_000 / part.length));
    }
  });
  expect(cost).toBeLessThan(1000);
});
