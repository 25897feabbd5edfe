import { createEventSinks, type EventSink } from '../adapters/event-sinks/event-sink.ts';
import type { Config } from '../config/config.ts';
import { reasonOf } from '../lib/errno.ts';
import { checkExpiry } from './certificates.ts';
import { type Finding, findingsOf } from './finding.ts';

const CHECK = 'event sinks';
const TIMEOUT_MS = 5_000;

const SETTINGS: Record<EventSink['name'], string> = {
  file: 'EVENT_FILE',
  syslog: 'EVENT_SYSLOG_URL',
  http: 'EVENT_HTTP_URL',
};

/** Whether each sink could take events. Sends none. */
export const checkSinks = async ({ sinks, baseUrl }: Config): Promise<Finding[]> =>
  (await Promise.all(createEventSinks(sinks, baseUrl).map(checkSink))).flat();

const checkSink = async (sink: EventSink): Promise<Finding[]> => {
  const { ok, failure } = findingsOf(CHECK);
  const setting = SETTINGS[sink.name];
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const { place, certificate } = await sink.verify(limit);
    const found = ok(sink.name === 'file' ? `${place} can be written.` : `${place} accepts connections.`);
    return certificate ? [found, checkExpiry(CHECK, `The certificate of ${place}`, certificate)] : [found];
  } catch (error) {
    const reason = limit.aborted ? 'no answer in time' : reasonOf(error);
    return [failure(`${setting} cannot be used (${reason}).`, 'Events wait until then: see docs/sinks.md.')];
  }
};
