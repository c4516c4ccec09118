/** What a room is made for. */
export interface RoomOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The run's private folder. */
  readonly runFolder: string;
  /** The runner's checkout, which is not there: a tree stands at its place. */
  readonly checkout: string;
  /** Folders of the runner that are not there, but for what is named otherwise. */
  readonly hidden: readonly string[];
  /** Folders that are there read-only although they lie in hidden ones. */
  readonly visible: readonly string[];
  /** Ports of this machine's 127.0.0.1 that are reached from the room at the same place. */
  readonly localPorts: readonly number[];
  /** Program and first arguments of our worker. */
  readonly worker: { readonly file: string; readonly args: readonly string[] };
  /** Where rooms are made, and where user ids are taken; in tests folders of their own. */
  readonly places: { readonly rooms: string; readonly reservations: string };
}
