import type { SinkConfig } from '../../config/sink-config.ts';
import { createFileSink } from './file-sink.ts';
import { createHttpSink } from './http-sink.ts';
import { createSyslogSink } from './syslog-sink.ts';

/** An event as `events.list` returns it. All its fields are sent, including those that are not named here. */
export type SinkEvent = {
  id: number;
  type: string;
  timestamp: Date;
  subject: string | null;
  actor: string | null;
};

/** Receives the events of the installation, in the order of their ids. Does not log. */
export type EventSink = {
  name: 'file' | 'syslog' | 'http';
  /**
   * Resolves when the events were received. After a failure, none, some or all may have been received.
   * @throws Error whose message contains no secret
   */
  write: (events: readonly SinkEvent[], signal: AbortSignal) => Promise<void>;
};

/** The configured sinks. @param baseUrl names the installation to syslog servers */
export const createEventSinks = (config: SinkConfig, baseUrl: string): EventSink[] => {
  const { file, syslog, http, httpAuthorizationFile, tls } = config;
  return [
    ...(file ? [createFileSink(file)] : []),
    ...(syslog ? [createSyslogSink({ server: syslog, tls, baseUrl })] : []),
    ...(http ? [createHttpSink({ url: http, authorizationFile: httpAuthorizationFile, tls })] : []),
  ];
};

/** One line per event. */
export const jsonLinesOf = (events: readonly SinkEvent[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');
