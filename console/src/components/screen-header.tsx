import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode, RefObject } from 'react';
import { useFocusedHeading } from './focused-heading.ts';
import { MoreMenu } from './more-menu.tsx';
import classes from './screen-header.module.css';

type Props = {
  title: string;
  /** Next to the title: the number of rows. */
  count?: ReactNode;
  /** One line below the title. */
  lead?: ReactNode;
  /** At most two buttons on the right. */
  actions?: ReactNode;
  /** Further actions, as items of a menu. */
  menu?: ReactNode;
  /** Has the focus at first, instead of the title. */
  field?: RefObject<HTMLElement | null>;
};

/** The heading of a screen, which is also the title of the browser's tab. */
export const ScreenHeader = ({ title, count, lead, actions, menu, field }: Props) => {
  useDocumentTitle(`${title} – Steward`);
  const heading = useFocusedHeading(field);
  return (
    <div className={classes.header}>
      <Stack gap={2}>
        <Group gap="xs" align="baseline">
          <Title order={1} ref={heading} tabIndex={-1} className="screen-title">
            {title}
          </Title>
          {count}
        </Group>
        {lead !== undefined && <Text c="dimmed">{lead}</Text>}
      </Stack>
      {actions && <div className={classes.actions}>{actions}</div>}
      {menu && <MoreMenu>{menu}</MoreMenu>}
    </div>
  );
};
