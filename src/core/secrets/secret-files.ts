/** Folders in which programs keep only keys and logins. */
const FOLDERS: ReadonlySet<string> = new Set(['.ssh', '.gnupg', '.aws', '.azure', '.password-store']);

/** Folders of published packages. Their keys belong to examples and tests, and programs need their certificates. */
const PUBLISHED: ReadonlySet<string> = new Set(['node_modules', 'site-packages', 'dist-packages']);

/** Matches files with the certificates of authorities, by the names that packages use. */
const AUTHORITIES = /^(?:cacerts?|ca-?bundle|ca-certificates|roots?)\.pem$/;

/** Patterns for file names. Letter case is ignored because some file systems ignore it. */
const NAMES: readonly RegExp[] = [
  /^\.env(?:[.-].*)?$/,
  /.\.env$/,
  /^\.(?:envrc|dev\.vars|renviron|secrets)(?:\..*)?$/,
  /^(?:\.npmrc|[._]netrc|\.pypirc|\.pgpass|\.my\.cnf|\.git-credentials|\.dockercfg|\.htpasswd|\.boto|\.s3cfg)$/,
  /^(?:\.vault[-_](?:pass|password|token)|\.sentryclirc|\.terraformrc|kubeconfig|auth\.json|local\.settings\.json)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /^\.?(?:[\w-]+[._-])?credentials?(?:\.(?:json|ya?ml|toml|ini|cfg|csv|txt|xml|properties))?$/,
  /^(?:service[-_]?account|client[-_]?secret|secret)s?(?:[._-].*)?\.(?:json|ya?ml|toml|ini|txt|properties)$/,
];

/** Matches files that hold keys, except in published packages. */
const ENDINGS = /\.(?:pem|key|p8|p12|pfx|jks|keystore|ppk|kdbx|ovpn|tfvars(?:\.json)?|tfstate(?:\..*)?)$/;

/** Matches files that can only be identified together with their folder. */
const SECRET_PATHS = /(?:^|\/)(?:\.docker\/config\.json|\.kube\/config)$/;

/**
 * Returns true if a path looks like a file with secrets: `.env`, private keys, logins of tools. This is the only list
 * of such names.
 */
export function isSecretFile(path: string): boolean {
  const lower = path.toLowerCase();
  const folders = lower.split('/');
  const name = folders.pop() ?? '';
  if (folders.some((folder) => FOLDERS.has(folder)) || SECRET_PATHS.test(lower)) return true;
  if (NAMES.some((pattern) => pattern.test(name))) return true;
  return ENDINGS.test(name) && !AUTHORITIES.test(name) && !folders.some((folder) => PUBLISHED.has(folder));
}

/** Returns true if a path looks like a folder with only secrets. */
export function isSecretFolder(path: string): boolean {
  return path
    .toLowerCase()
    .split('/')
    .some((folder) => FOLDERS.has(folder));
}
