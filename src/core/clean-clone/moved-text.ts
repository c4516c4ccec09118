/** Where something stood, and where its copy stands: absolute paths without a slash at the end. */
export interface MovedFolder {
  readonly from: string;
  readonly to: string;
}

/**
 * Small texts in which tools write down absolute paths when they install something: programs and what starts them (the
 * first line of a script of a Python environment, the starters of pnpm), and what tells Python where modules are.
 */
const NAMING: readonly RegExp[] = [
  /(?:^|\/)(?:\.?bin|Scripts)\/[^/]+$/,
  /\.(?:pth|egg-link)$/,
  /(?:^|\/)__editable__[^/]*\.py$/,
  /(?:^|\/)pyvenv\.cfg$/,
  // These files name the git directory of a work tree or a submodule.
  /(?:^|\/)\.git$/,
];

/** Whether a file of this path may name others by absolute paths that have to be moved with it. */
export function namesPaths(path: string): boolean {
  return NAMING.some((form) => form.test(path));
}

/** The text with the paths of what moved; a longer name that begins in the same way is another one. */
export function movedText(text: string, moves: readonly MovedFolder[]): string {
  return moves.reduce((rest, { from, to }) => {
    // Before it may stand what ends another word, or the beginning of a URL.
    const path = new RegExp(`(?<![\\p{L}\\p{N}_.~})-]|(?<!file:/)/)${escaped(from)}(?![\\p{L}\\p{N}_.-])`, 'gu');
    return rest.replace(path, () => to);
  }, text);
}

/** The path, or that of its copy. */
export function movedPath(path: string, moves: readonly MovedFolder[]): string {
  const move = moves.find(({ from }) => path === from || path.startsWith(`${from}/`));
  return move === undefined ? path : `${move.to}${path.slice(move.from.length)}`;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
