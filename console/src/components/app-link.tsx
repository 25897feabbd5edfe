import { Badge, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';

type Props = { app: { id: string; label: string; in_maintenance: boolean } };

/** The label of an app in a table, which leads to its screen. */
export const AppLink = ({ app: { id, label, in_maintenance } }: Props) => (
  <Group gap="sm" wrap="nowrap">
    <Link className="text-link" to="/apps/$id" params={{ id }}>
      {label}
    </Link>
    {in_maintenance && (
      <Badge variant="default" tt="none" flex="none">
        In maintenance
      </Badge>
    )}
  </Group>
);
