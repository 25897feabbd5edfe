import type { Config } from '../../config/config.ts';
import type { Connection } from '../../config/connection.ts';

/** Sent to a worker over IPC: arguments and environments are visible to other processes. */
export type WorkerConfig = {
  /** 1 to `WORKERS`; a replacement keeps the number. */
  number: number;
  config: Config;
  connection: Connection;
  secretKey: string;
};

export type ConfigMessage = { config: WorkerConfig };
/** A step of `ShutdownSteps`. */
export type StopMessage = { stop: 'announce' | 'hold' | 'close' };

/** Sent by a worker when it listens. */
export const LISTENING = 'listening';
