import { OWN_COMMENT_MARKER } from './command.ts';

/** First line of the one answer to what a pull request was asked; `asked`: the comment, review or commit that it answers. */
export function answerMarker(id: string, asked: string): string {
  return `${OWN_COMMENT_MARKER}answer ${word(id)} asked=${word(asked)} -->`;
}

/** What an answer of ours says came of it, read back from its first words, which `renderAnswer` writes. */
export function whatAnswerSays(text: string): {
  readonly kind: 'changed' | 'unchanged' | 'given-up';
  readonly commit: string | null;
} {
  const line = text.split('\n').find((one) => one.startsWith('**')) ?? '';
  const commit = /\/commit\/([0-9a-f]{40,64})\)/.exec(line)?.[1] ?? null;
  if (line.startsWith('**A person must decide.**')) return { kind: 'given-up', commit };
  return { kind: commit === null ? 'unchanged' : 'changed', commit };
}

/** Nothing in it ends the comment that it stands in. */
function word(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.]+/g, '-').slice(0, 80);
}
