import { createHmac } from 'node:crypto';

/**
 * Variables that direct git or this program to another server, or make it trust another one. Any process that writes to
 * GITHUB_ENV after main has ended can set them. Nothing here can protect from a variable that loads code into this
 * program.
 */
const STEERING = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'GIT_SSL_CAINFO',
  'NODE_EXTRA_CA_CERTS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_USE_ENV_PROXY',
  'NODE_USE_SYSTEM_CA',
];

/**
 * Returns a digest, made with the run's key, of the variables that decide where the token goes, so that main's values
 * are recognized; null when none is set.
 */
export function steeringDigest(environment: Readonly<Record<string, string | undefined>>, key: Buffer): string | null {
  const set = STEERING.flatMap((name) =>
    [name, name.toLowerCase()].flatMap((spelling) => {
      const value = environment[spelling] ?? '';
      return value === '' ? [] : [[spelling, value]];
    }),
  );
  if (set.length === 0) return null;
  return createHmac('sha256', key).update('steering\n').update(JSON.stringify(set)).digest('hex');
}
