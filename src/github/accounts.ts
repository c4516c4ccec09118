import type { Account, Forge, Permission } from '../ports/forge.ts';
import type { Client } from './client.ts';
import { statusOf } from './errors.ts';

type AccountMethods = Pick<Forge, 'account' | 'permissionOf'>;

/** Who somebody is, and what they may do in the repository. Each is asked once a run. */
export function createAccounts({ ask }: Client): AccountMethods {
  return {
    account: onceEach((login) =>
      ask({ doing: `look for the account ${login}`, needs: ['metadata: read'] }, async (octokit) => {
        try {
          const { data } = await octokit.rest.users.getByUsername({ username: login });
          return toAccount({ __typename: data.type, login: data.login, databaseId: data.id });
        } catch (error) {
          if (statusOf(error) === 404) return null;
          throw error;
        }
      }),
    ),

    permissionOf: onceEach((login) =>
      ask({ doing: `read the permission of ${login}`, needs: ['contents: read'] }, async (octokit, at) => {
        try {
          const { permission, role_name: role } = (
            await octokit.rest.repos.getCollaboratorPermissionLevel({ ...at, username: login })
          ).data;
          return (
            permissions.find((known) => known === role) ?? permissions.find((known) => known === permission) ?? 'none'
          );
        } catch (error) {
          if (statusOf(error) === 404) return 'none';
          throw error;
        }
      }),
    ),
  };
}

/** Somebody as GraphQL names them, for queries that hold `accountFragment`. */
export interface Actor {
  readonly __typename: string;
  readonly login: string;
  readonly databaseId?: number | null;
}

export const ACCOUNT_FRAGMENT =
  'fragment Account on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }';

/**
 * In the form of REST, where the login of an app's bot ends in `[bot]`; GraphQL leaves that out. Who is neither a user nor
 * a bot is nobody: an import's placeholder (Mannequin) may bear the login of a person that it is not.
 */
export function toAccount(actor: Actor | null): Account | null {
  if (actor === null) return null;
  const { __typename: type, login, databaseId: id = null } = actor;
  if (type === 'Bot') return { login: login.endsWith('[bot]') ? login : `${login}[bot]`, id, kind: 'bot' };
  return type === 'User' ? { login, id, kind: 'user' } : null;
}

/** `permission` knows no maintain and triage, `role_name` may be an organisation's own role. */
const permissions: readonly Permission[] = ['admin', 'maintain', 'write', 'triage', 'read', 'none'];

/** Remembers answers, not failures. Logins are compared without case. */
function onceEach<T>(find: (login: string) => Promise<T>): (login: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (login) => {
    const key = login.toLowerCase();
    const answer = known.get(key) ?? find(login);
    known.set(key, answer);
    answer.catch(() => known.delete(key));
    return answer;
  };
}
