import type { Area } from '../github/route.ts';
import type { Testbed } from '../testbed.ts';
import type { Permissions } from './workflow.ts';

const AREAS: readonly Area[] = ['contents', 'issues', 'pull_requests', 'checks', 'statuses', 'actions'];

/**
 * Calls a function while the token has a workflow's `permissions:` (undefined keeps the testbed's own); a fork's pull
 * request only gets the right to read.
 */
export async function withPermissions<T>(
  { permissions, remote }: Testbed,
  { asked, isFork }: { readonly asked: Permissions | undefined; readonly isFork: boolean },
  act: () => Promise<T>,
): Promise<T> {
  const before = { ...permissions };
  const given = asked === undefined ? before : rightsOf(asked);
  set(permissions, isFork ? readOnly(given) : given);
  const mayPush = permissions.contents === 'write';
  if (!mayPush) await remote.setRule('read-only');
  try {
    return await act();
  } finally {
    set(permissions, before);
    if (!mayPush) await remote.setRule('open');
  }
}

type Rights = Partial<Record<Area, 'read' | 'write'>>;

function rightsOf(asked: Permissions): Rights {
  const all = { metadata: 'read' } as const;
  if (asked === 'read-all' || asked === 'write-all')
    return { ...all, ...Object.fromEntries(AREAS.map((area) => [area, asked === 'read-all' ? 'read' : 'write'])) };
  const rights = AREAS.map((area) => [area, asked[area.replace('_', '-')] ?? 'none'] as const);
  return { ...all, ...Object.fromEntries(rights.filter(([, right]) => right !== 'none')) };
}

/** Limits the permissions of a called workflow's job to those of the calling job; GitHub refuses more. */
export function limitPermissions(
  asked: Permissions | undefined,
  caller: Permissions | undefined,
): Permissions | undefined {
  if (asked === undefined || caller === undefined) return asked ?? caller;
  if (mayLogIn(asked) && !mayLogIn(caller))
    throw new Error('The called workflow asks for id-token: write, and the calling job has none.');
  const [wanted, given] = [rightsOf(asked), rightsOf(caller)];
  for (const [area, right] of Object.entries(wanted)) {
    const has = given[area as Area];
    if (has === undefined || (right === 'write' && has === 'read'))
      throw new Error(`The called workflow asks for ${area}: ${right}, and the calling job has ${has ?? 'none'}.`);
  }
  return asked;
}

function mayLogIn(asked: Permissions | undefined): boolean {
  return asked === 'write-all' || (typeof asked === 'object' && asked['id-token'] === 'write');
}

/** The variables by which a job asks for identity tokens, as GitHub sets them for `id-token: write`. */
export function buildLoginVariables(asked: Permissions | undefined): Readonly<Record<string, string>> {
  return mayLogIn(asked)
    ? {
        ACTIONS_ID_TOKEN_REQUEST_URL: 'https://id.example/login-of-url?api-version=2.0',
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'login-of-request-token',
      }
    : {};
}

function readOnly(rights: Rights): Rights {
  return Object.fromEntries(Object.keys(rights).map((area) => [area, 'read']));
}

function set(permissions: Rights, rights: Rights): void {
  for (const area of AREAS) Reflect.deleteProperty(permissions, area);
  Object.assign(permissions, rights);
}
