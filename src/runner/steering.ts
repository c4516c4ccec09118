import { createHmac } from 'node:crypto';

/**
 * Variables that direct git or this program to another server, or make it trust another one. Any process that writes to
 * GITHUB_ENV after main has ended can set them. No check can protect against a variable that loads code into this
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
 * Returns digests, made with the run's key, of the variables that decide where the token and the spans are sent, and
 * with which headers, so that post recognizes main's values; null if no such variable is set.
 */
export function digestSteering(
  environment: Readonly<Record<string, string | undefined>>,
  key: Buffer,
): { readonly steeringDigest: string | null; readonly collectorDigest: string | null } {
  const digestOf = (names: readonly string[]): string | null => {
    const set = names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : []));
    if (set.length === 0) return null;
    return createHmac('sha256', key).update('steering\n').update(JSON.stringify(set)).digest('hex');
  };
  const ofCollector = Object.keys(environment).filter((name) => name.startsWith('OTEL_'));
  return {
    steeringDigest: digestOf(STEERING.flatMap((name) => [name, name.toLowerCase()])),
    collectorDigest: digestOf(ofCollector.sort()),
  };
}
