import { describe, expect, test } from 'vitest';
import { isSecretFile, isSecretFolder } from '../../../../src/core/secrets/secret-files.ts';

describe('files whose names suggest secrets', () => {
  test.each([
    ...['.env', '.env.local', '.env.production', '.env-backup', 'api/.ENV', 'prod.env', '.envrc', '.dev.vars'],
    ...['.npmrc', 'web/.npmrc', '.netrc', '_netrc', '.pypirc', '.pgpass', '.git-credentials', '.htpasswd', 'auth.json'],
    ...['server.pem', 'certs/tls.key', 'Release.P12', 'app.jks', 'vault.kdbx', 'prod.tfvars', 'terraform.tfstate'],
    ...['terraform.tfstate.backup', 'prod.tfvars.json', 'config/master.key', 'privkey.pem', 'cert.pem'],
    ...['id_rsa', 'id_rsa.pub', 'id_ed25519', 'id_ed25519_work', 'id_ecdsa', '.ssh/config', 'home/.aws/config'],
    ...['credentials', '.credentials.json', 'credentials.json', 'application_default_credentials.json'],
    ...['aws-credentials.csv', 'service-account.json', 'service_account_prod.json', 'client_secret_1.json'],
    ...['secrets.yaml', 'secret.json', '.streamlit/secrets.toml', '.docker/config.json', '.kube/config'],
    ...['node_modules/.env', 'node_modules/a/.npmrc', 'kubeconfig', '.secrets', '.vault_pass'],
  ])('%s', (path) => {
    expect(isSecretFile(path)).toBe(true);
  });

  test.each([
    ...['environment.ts', 'env.d.ts', 'src/env.js', '.environment', 'dotenv', 'key', 'keys.ts', 'monkey', 'pem.go'],
    ...['credentials.py', 'google/oauth2/credentials.py', 'credentials.test.ts', 'secrets.py', 'secretary.json'],
    ...['my_id_rsa.md', 'docker/config.json', 'config.json', 'package.json', 'build/app.js', 'README.md'],
    ...['.venv/lib/python3.12/site-packages/certifi/cacert.pem', 'vendor/bundle/aws/ca-bundle.pem', 'grpc/roots.pem'],
    ...['node_modules/http/test/fixtures/server.key', 'lib/dist-packages/tornado/test.key'],
  ])('not %s', (path) => {
    expect(isSecretFile(path)).toBe(false);
  });
});

test.each([
  ['.ssh', true],
  ['home/.AWS', true],
  ['.gnupg/private-keys-v1.d', true],
  ['.env', false],
  ['node_modules', false],
  ['ssh', false],
])('the folder %s is secret as a whole: %s', (path, isSecret) => {
  expect(isSecretFolder(path)).toBe(isSecret);
});
