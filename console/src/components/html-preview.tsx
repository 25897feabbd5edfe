import { Text } from '@mantine/core';

const STYLE =
  '<style>body{margin:12px;font:16px/1.5 system-ui,sans-serif;color:#232822;background:#fff;overflow-wrap:anywhere}</style>';

type Props = { title: string; html: string };

/** Shows HTML that a user wrote, in a frame that runs no scripts and shares nothing with the console. */
export const HtmlPreview = ({ title, html }: Props) =>
  html.trim() === '' ? (
    <Text size="sm" c="dimmed">
      Nothing to show yet.
    </Text>
  ) : (
    <iframe className="html-preview" title={title} sandbox="" srcDoc={`<!doctype html>${STYLE}${html}`} />
  );
