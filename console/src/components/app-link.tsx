import { Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { StatusText } from './status-text.tsx';

type Props = {
  app: { id: string; label: string; in_maintenance: boolean };
  /** Whether it was added recently and is not used yet. */
  isNew?: boolean;
};

/** The label of an app in a table, which links to its screen. */
export const AppLink = ({ app: { id, label, in_maintenance }, isNew = false }: Props) => (
  <Group gap="sm" wrap="nowrap">
    <Link className="text-link" to="/apps/$id" params={{ id }}>
      {label}
    </Link>
    {isNew && (
      <span className="tag" title="New, not used yet">
        New, not used yet
      </span>
    )}
    {in_maintenance && <StatusText label="In maintenance" color="yellow" />}
  </Group>
);
