import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Settings } from '../../src/config/settings.ts';
import { findUnknownSettings } from '../../src/config/unknown-settings.ts';

const unknown = suite('variables that are no settings');

unknown('are named at start if they are similar to one', () => {
  const env = {
    SMTP_ULR: 'x',
    SMTP_URL: 'x',
    STEWARD_PORT_8000_TCP: 'x',
    STEWARD_LAUNCHED: '1',
    EDITOR: 'vi',
  };
  const found = findUnknownSettings(env, Object.keys(Settings.shape));

  assert.equal(
    found.map(({ isSimilar, message, action }) => [isSimilar, message, action]),
    [
      [true, 'SMTP_ULR is not a setting and has no effect.', 'Use SMTP_URL, or remove it.'],
      [false, 'STEWARD_LAUNCHED is not a setting and has no effect.', 'See docs/settings.md, or remove it.'],
    ],
  );
});

unknown.run();
