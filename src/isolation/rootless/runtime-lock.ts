/** The library that makes a room without root; a program of it runs as this user, so every byte of it is pinned. */
export const RUNTIME = '@anthropic-ai/sandbox-runtime';
export const RUNTIME_VERSION = '0.0.83';

/** The library and all that it needs, as package-lock.json of this repository has them; a unit test compares the two. */
export const RUNTIME_PACKAGES = {
  [RUNTIME]: {
    version: RUNTIME_VERSION,
    integrity: 'sha512-yEusORnVJrNseF/9fvjVYyk6tr79/aFbIB3T/X8p2puLZdaaiGNeYN50v0CE+1DT70v7XuzKOAnTivh1f5cksA==',
    dependencies: {
      '@pondwader/socks5-server': '^1.0.10',
      commander: '^12.1.0',
      'node-forge': '^1.4.0',
      zod: '^3.25.0',
    },
  },
  '@pondwader/socks5-server': {
    version: '1.0.10',
    integrity: 'sha512-bQY06wzzR8D2+vVCUoBsr5QS2U6UgPUQRmErNwtsuI6vLcyRKkafjkr3KxbtGFf9aBBIV2mcvlsKD1UYaIV+sg==',
  },
  commander: {
    version: '12.1.0',
    integrity: 'sha512-Vw8qHK3bZM9y/P10u3Vib8o/DdkvA2OtPtZvD871QKjy74Wj1WSKFILMPRPSdUSx5RFK1arlJzEtA4PkFgnbuA==',
  },
  'node-forge': {
    version: '1.4.3',
    integrity: 'sha512-P6wzfh6t70avmV8FrVEAd/36sOPJQ+hkaJVX1Laap9J/77m7M0eyozDvc8SwnDf4P7MP94gwbAAo0rg3YVXT+g==',
  },
  zod: {
    version: '3.25.76',
    integrity: 'sha512-gzUt/qt81nXsFGKIFcC3YnfEAx5NkunCfnDlvuBSSFS02bcXu4Lmea0AFIUwbLWxWPx3d9p8S5QoaujKcNQxcQ==',
  },
} as const;

/** The two files from which `npm ci` installs just these packages: name → text. */
export function runtimeManifests(): Readonly<Record<string, string>> {
  const root = { name: 'ralph-sandbox-runtime', version: '0.0.0', dependencies: { [RUNTIME]: RUNTIME_VERSION } };
  const packages = Object.fromEntries(
    Object.entries(RUNTIME_PACKAGES).map(([name, entry]) => [`node_modules/${name}`, entry]),
  );
  const lock = { ...root, lockfileVersion: 3, requires: true, packages: { '': root, ...packages } };
  return {
    'package.json': `${JSON.stringify({ ...root, private: true })}\n`,
    'package-lock.json': `${JSON.stringify(lock)}\n`,
  };
}
