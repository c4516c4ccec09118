import type { OrganisationFile } from '../core/settings/effective.ts';
import { UserError } from '../errors.ts';
import { createClient, type ForgeOptions } from './client.ts';

/** Maximum size of the file in bytes. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads a file of a repository's default branch with one request. A file or repository that the token does not find is
 * `missing`; throws a UserError if GitHub gives no answer.
 */
export async function readRepositoryFile(options: ForgeOptions, path: string): Promise<OrganisationFile> {
  const { owner, repo } = options.repository;
  const purpose = { doing: `read ${path}`, needs: ['contents: read'] };
  try {
    const { data } = await createClient(options).ask(purpose, (octokit, at) =>
      octokit.rest.repos.getContent({ ...at, path }),
    );
    if (Array.isArray(data) || data.type !== 'file' || !('content' in data))
      return { kind: 'missing', why: `${path} of ${owner}/${repo} is not a file.` };
    return data.size <= MAX_BYTES
      ? { kind: 'text', text: Buffer.from(data.content, 'base64').toString() }
      : { kind: 'missing', why: `${path} of ${owner}/${repo} is longer than 64 KiB.` };
  } catch (error) {
    if (!(error instanceof UserError) || error.kind !== 'configuration') throw error;
    return { kind: 'missing', why: error.message };
  }
}
