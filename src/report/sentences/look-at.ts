import { type Proof, type ProofSentence, describeProof } from '../../core/proof/proof.ts';
import type { LookAtKind } from '../../core/review/manifest.ts';
import { capLines } from '../../core/text/phrase.ts';
import type { RunReport } from '../../handover/report.ts';
import { listLaneTasks, selectWorkedReport } from '../facts.ts';
import { renderCode, renderTaskLink } from '../markdown.ts';

/** The words at the beginning of the line about each kind of files. */
export const LOOK_AT_WORDS: Readonly<Record<LookAtKind, string>> = {
  'conflict-markers': 'Conflict markers of git',
  'manifest-not-read': 'Manifests that were not read, because they are too large or too many',
  'test-not-read': 'Tests that were not read, because they are too large or too many',
  'void-test-script': 'Test scripts that always pass or were removed',
  'deleted-test': 'Deleted tests',
  'skipped-test': 'Skipped tests',
  'weaker-test': 'Tests that check less than before',
  'changed-test-script': 'Changed test scripts',
  'test-settings': 'Settings that decide what is tested',
  'task-runner': 'Scripts that run the tests, or may',
  'unreadable-scripts': 'Manifests whose scripts cannot be read',
  'script-by-itself': 'Scripts that run by themselves',
  action: 'Actions that workflows may run',
  'other-ci': 'Files that other CI systems run',
  'git-hook': "Hooks that git runs on people's machines",
  editor: 'Settings that make editors run programs',
  machine: 'Files that set up the machine of everyone who opens the repository',
  shell: 'Files that a shell runs in their folder',
  'package-source': 'Settings that decide where packages come from',
  'lock-file': 'Lock files that bring something new',
  'embedded-repository': 'Git repositories inside of the repository, whose settings run programs',
  wrapper: 'Programs that start the build tool',
  'large-file-source': 'Settings that decide where large files come from',
  'agent-instructions': 'Instructions for agents',
  notes: 'Notes that later runs read',
  outside: 'Changes outside of the working directory',
  dependencies: 'Dependencies',
  'new-binary': 'New binary files',
  'changed-binary': 'Changed binary files',
  'large-file': 'Large files',
  untested: 'New code that no changed test mentions',
};

/** Maximum number of lines about what tests prove. */
const MAX_PROOF_LINES = 10;

const CONCERNS = {
  'proves-too-little': 'Tests that prove too little',
  'old-form-fails': 'Changed tests whose old form fails',
} as const;

/** Names the tests of the branch's tasks that prove too little or are no longer valid, one line for each sentence. */
export function describeUnprovenTests(report: RunReport): readonly string[] {
  const lines = proofsIn(report).flatMap(({ name, proof }) =>
    describeProof(proof).flatMap((sentence) =>
      sentence.concern === null
        ? []
        : [`**${CONCERNS[sentence.concern]}** (${name}): ${renderProofSentence(sentence)}`],
    ),
  );
  return capLines(lines, MAX_PROOF_LINES);
}

/** Reports for each task of the branch, on one line, what its tests prove or why that is unknown. */
export function describeProvenTests(report: RunReport): readonly string[] {
  const lines = proofsIn(report).flatMap(({ name, proof }) => {
    const sentences = listProofSentences(proof);
    return sentences.length === 0 ? [] : [`${name}: ${sentences.join(' ')}`];
  });
  return capLines(lines, MAX_PROOF_LINES);
}

function proofsIn(report: RunReport): readonly { readonly name: string; readonly proof: Proof }[] {
  const listed = listLaneTasks(report);
  return Object.entries(selectWorkedReport(report)?.change.tasks ?? {}).flatMap(([id, { proof }]) => {
    const task = listed.find((one) => one.task.id === id)?.task;
    return proof === undefined ? [] : [{ name: task === undefined ? renderCode(id, 80) : renderTaskLink(task), proof }];
  });
}

/** Renders the sentences of a proof that a reviewer need not look at first. */
export function listProofSentences(proof: Proof): readonly string[] {
  return describeProof(proof).flatMap((sentence) => (sentence.concern === null ? [renderProofSentence(sentence)] : []));
}

function renderProofSentence({ text, names }: ProofSentence): string {
  const shown = names.map((name) => renderCode(name, 160)).join(', ');
  return names.length === 0 ? text : `${text.replace(/\.$/, '')} (${shown}).`;
}
