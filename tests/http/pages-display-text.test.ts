import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatDate, formatDateTime, formatWait, userMessage } from '../../src/http/pages/parts.ts';
import { Problem } from '../../src/lib/problems.ts';

const displayText = suite('display text of pages');

displayText('formatWait rounds up', () => {
  const waits: [number | undefined, string][] = [
    [undefined, 'a minute'],
    [1, 'a minute'],
    [61, '2 minutes'],
    [900, '15 minutes'],
    [3541, 'an hour'],
    [3600, 'an hour'],
    [3601, '2 hours'],
    [7201, '3 hours'],
  ];
  for (const [seconds, text] of waits) assert.is(formatWait(seconds), text);
});

displayText('userMessage avoids technical terms', () => {
  for (const code of ['csrf-failed', 'invalid-credentials', 'throttled', 'invalid-input'] as const) {
    const message = userMessage(new Problem(code, { retryAfterSeconds: 900 }));
    assert.not.match(message, /csrf|token|header|cookie|input|credential/i);
  }
});

displayText('formatDate and formatDateTime name the month', () => {
  const instant = new Date('2026-12-05T09:03:00Z');

  assert.is(formatDate(instant), '5 Dec 2026');
  assert.is(formatDateTime(instant), '5 Dec 2026, 09:03 UTC');
});

displayText.run();
