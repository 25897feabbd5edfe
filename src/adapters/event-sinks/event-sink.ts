import type { X509Certificate } from 'node:crypto';
import type { SinkConfig } from '../../config/sink-config.ts';
import { createFileSink } from './file-sink.ts';
import { createHttpSink } from './http-sink.ts';
import { createSyslogSink } from './syslog-sink.ts';

/** An event as `events.list` shows it. All its fields are sent, also those that are not named here. */
export type SinkEvent = {
  id: number;
  type: string;
  timestamp: Date;
  subject: string | null;
  actor: string | null;
};

/** Takes the events of the installation, in the order of their ids. Does not log. */
export type EventSink = {
  name: 'file' | 'syslog' | 'http';
  /**
   * Resolves when the events were received. After a failure, all or some of them may have been.
   * @throws Error, whose message names no secret
   */
  write: (events: readonly SinkEvent[], signal: AbortSignal) => Promise<void>;
  /**
   * Whether events could be sent, without sending any: where, and the certificate of the server.
   * @throws Error
   */
  verify: (signal: AbortSignal) => Promise<{ place: string; certificate?: X509Certificate | undefined }>;
};

/** The sinks that are set. @param baseUrl names the installation to syslog servers */
export const createEventSinks = (config: SinkConfig, baseUrl: string): EventSink[] => {
  const { file, syslog, http, httpAuthorizationFile, tls } = config;
  return [
    ...(file ? [createFileSink(file)] : []),
    ...(syslog ? [createSyslogSink({ server: syslog, tls, baseUrl })] : []),
    ...(http ? [createHttpSink({ url: http, authorizationFile: httpAuthorizationFile, tls })] : []),
  ];
};

/** A line for each event. */
export const jsonLinesOf = (events: readonly SinkEvent[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');
