import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { git } from '../git.ts';
import { accountOf } from './accounts.ts';
import { type Call, type GitHubAnswer, notFound, createRefusal, type Route, text } from './route.ts';

/** Routes of git's objects. */
export const commitRoutes: readonly Route[] = [
  { method: 'POST', path: '/git/commits', needs: ['contents=write'], answer: createCommit },
];

/**
 * The file in the bare repository that lists the commits with a verified signature, one a line. Only the server writes
 * it, so the header of a commit alone proves nothing.
 */
export const VERIFIED_COMMITS = 'verified-commits';

/**
 * Creates a commit that no ref names. Like GitHub, signs it if an app made the request and names no author, committer
 * or signature of its own.
 */
async function createCommit(call: Call): Promise<GitHubAnswer> {
  const { repositoryFolder: folder, body, token, viewer, now, state } = call;
  if (folder === null) return notFound;
  const tree = text(body['tree']);
  const parents = (body['parents'] ?? []) as readonly string[];
  const kinds = await Promise.all([tree, ...parents].map((id) => kindOf(folder, id)));
  if (kinds.some((kind, at) => kind !== (at === 0 ? 'tree' : 'commit')))
    return createRefusal(
      422,
      kinds[0] === 'tree'
        ? 'Parent SHA does not exist or is not a commit object'
        : 'Tree SHA does not exist or is not a tree object',
    );
  const isCustom = ['author', 'committer', 'signature'].some((name) => body[name] !== undefined);
  const isSigned = token.kind === 'app' && !isCustom;
  const own = {
    name: viewer.login,
    email: `${String(accountOf(state, viewer.login).id)}+${viewer.login}@users.noreply.github.com`,
  };
  const author = { ...own, ...(body['author'] as object | undefined) };
  const committer = isSigned ? { name: 'GitHub', email: 'noreply@github.com' } : author;
  const at = `${String(Math.floor(now / 1000))} +0000`;
  const message = text(body['message']);
  const header = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${author.name} <${author.email}> ${at}`,
    `committer ${committer.name} <${committer.email}> ${at}`,
  ].join('\n');
  const payload = `${header}\n\n${message}`;
  const signature = `-----BEGIN PGP SIGNATURE-----\n\n${createHash('sha512').update(payload).digest('base64')}\n-----END PGP SIGNATURE-----\n`;
  const gpgsig = `\ngpgsig ${signature.split('\n').join('\n ')}`;
  const input = isSigned ? `${header}${gpgsig}\n\n${message}` : payload;
  const sha = await git(folder, ['hash-object', '-t', 'commit', '-w', '--stdin'], { input });
  if (isSigned) await appendFile(join(folder, VERIFIED_COMMITS), `${sha}\n`);
  const page = `https://github.com/${state.repository.owner}/${state.repository.name}`;
  const date = new Date(now).toISOString();
  return {
    status: 201,
    body: {
      sha,
      node_id: `C_${sha}`,
      url: `${page}/git/commits/${sha}`,
      html_url: `${page}/commit/${sha}`,
      author: { ...author, date },
      committer: { ...committer, date },
      message,
      tree: { sha: tree, url: `${page}/git/trees/${tree}` },
      parents: parents.map((parent) => ({
        sha: parent,
        url: `${page}/git/commits/${parent}`,
        html_url: `${page}/commit/${parent}`,
      })),
      verification: isSigned
        ? { verified: true, reason: 'valid', signature, payload, verified_at: date }
        : { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null },
    },
  };
}

/** Returns the kind of an object of the repository, or null if it does not exist. */
function kindOf(folder: string, id: string): Promise<string | null> {
  return git(folder, ['cat-file', '-t', id]).catch(() => null);
}
