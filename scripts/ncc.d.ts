/** The part of ncc's programmatic interface that the build uses; the package ships no types. */
declare module '@vercel/ncc' {
  interface Options {
    readonly cache: boolean;
    readonly quiet: boolean;
    readonly license: string;
    readonly target: string;
  }
  interface Built {
    readonly code: string;
    readonly assets: Readonly<Record<string, { readonly source: string | Buffer }>>;
  }
  function ncc(entry: string, options: Options): Promise<Built>;
  export default ncc;
}
