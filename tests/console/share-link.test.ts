import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { changesOf, endOf, NEW_LINK, settingsOf } from '../../console/src/access-views/share-link.ts';

const links = suite('the form of a share link');

const MONDAY = 7; // of December 2026
const endAfter = (end: string, day: number, date = '') =>
  endOf({ end, date }, new Date(2026, 11, day, 9, 30));

links('ends late on the next Friday, which on a Friday is a week later', () => {
  for (let day = MONDAY; day < MONDAY + 4; day += 1)
    assert.equal(endAfter('Until Friday', day), new Date(2026, 11, 11, 23, 59));
  for (let day = MONDAY + 4; day < MONDAY + 7; day += 1)
    assert.equal(endAfter('Until Friday', day), new Date(2026, 11, 18, 23, 59));
});

links('ends after whole days, at a time, or never', () => {
  assert.equal(endAfter('1 day', MONDAY), new Date(2026, 11, 8, 9, 30));
  assert.equal(endAfter('30 days', MONDAY), new Date(2027, 0, 6, 9, 30));
  assert.equal(endAfter('Date and time', MONDAY, '2027-02-01T12:15'), new Date(2027, 1, 1, 12, 15));
  assert.is(endAfter('Date and time', MONDAY), undefined);
  assert.is(endAfter('No end', MONDAY), null);
});

links('sends only what was changed, and shows no data', () => {
  const now = new Date(2026, 11, MONDAY);
  const before = settingsOf({ ...NEW_LINK, end: 'No end' }, now);
  const after = settingsOf(
    { ...NEW_LINK, label: ' Board ', end: '1 day', data_permissions: '{"a": 1}' },
    now,
  );

  const { settings, details } = changesOf(before, after);

  assert.equal(settings, { label: 'Board', expires_at: new Date(2026, 11, 8), data_permissions: { a: 1 } });
  assert.equal(details, {
    label: { from: '', to: 'Board' },
    expires_at: { from: null, to: new Date(2026, 11, 8).toISOString() },
    data_permissions: { from: null, to: null },
  });
});

links.run();
