import { Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';

const TYPING_MS = 200;
/** Links stay in place: the sandbox opens no tabs. */
const HEAD = '<!doctype html><base target="_blank">';
const STYLE =
  '<style>body{margin:12px;font:16px/1.5 system-ui,sans-serif;color:#232822;background:#fff;overflow-wrap:anywhere}.plain-text{white-space:pre-wrap}</style>';

type Props = {
  title: string;
  html: string;
  /** Shown if there is no HTML. */
  empty?: string;
};

/** Shows HTML that a user wrote, in a frame that runs no scripts and shares nothing with the console. */
export const HtmlPreview = ({ title, html, empty = 'Nothing to show yet.' }: Props) => {
  const [shown] = useDebouncedValue(html, TYPING_MS);
  return shown.trim() === '' ? (
    <Text size="sm" c="dimmed">
      {empty}
    </Text>
  ) : (
    <iframe className="html-preview" title={title} sandbox="" srcDoc={`${HEAD}${STYLE}${shown}`} />
  );
};
