import type { Config } from '../../config/config.ts';
import type { Connection } from '../../config/connection.ts';

/** What a worker is told when it begins: over its channel, since others can see a process's arguments and environment. */
export type WorkerConfig = {
  /** 1 to `WORKERS`; one that comes in another's place has its number. */
  number: number;
  config: Config;
  connection: Connection;
  secretKey: string;
};

export type ConfigMessage = { orders: WorkerConfig };
/** The steps of `StopSteps`. */
export type StopMessage = { stop: 'announce' | 'hold' | 'close' };

/** What a worker tells when it serves. */
export const LISTENING = 'listens';
