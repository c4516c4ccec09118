/** Folders in which programs keep keys and logins, and nothing else. */
const FOLDERS: ReadonlySet<string> = new Set(['.ssh', '.gnupg', '.aws', '.azure', '.password-store']);

/** Packages as they were published: their keys are those of examples and tests, and the certificates are needed. */
const PUBLISHED: ReadonlySet<string> = new Set(['node_modules', 'site-packages', 'dist-packages']);

/** Certificates of authorities, by the names under which packages bring them along. */
const AUTHORITIES = /^(?:cacerts?|ca-?bundle|ca-certificates|roots?)\.pem$/;

/** Letter case is ignored, as some file systems do. */
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

/** Kinds of files that hold keys, wherever they are but in published packages. */
const ENDINGS = /\.(?:pem|key|p8|p12|pfx|jks|keystore|ppk|kdbx|ovpn|tfvars(?:\.json)?|tfstate(?:\..*)?)$/;

/** Files that say what they are only together with their folder. */
const PLACES = /(?:^|\/)(?:\.docker\/config\.json|\.kube\/config)$/;

/** Whether a file holds secrets as far as its path says: `.env`, private keys, logins of tools. The one list of such names. */
export function isSecretFile(path: string): boolean {
  const lower = path.toLowerCase();
  const folders = lower.split('/');
  const name = folders.pop() ?? '';
  if (folders.some((folder) => FOLDERS.has(folder)) || PLACES.test(lower)) return true;
  if (NAMES.some((pattern) => pattern.test(name))) return true;
  return ENDINGS.test(name) && !AUTHORITIES.test(name) && !folders.some((folder) => PUBLISHED.has(folder));
}

/** Whether all of a folder is secret as far as its path says. */
export function isSecretFolder(path: string): boolean {
  return path
    .toLowerCase()
    .split('/')
    .some((folder) => FOLDERS.has(folder));
}
