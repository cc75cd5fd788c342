-- Version 4: what people look for page by page is found without a walk over everything.
--
--   ended_dead            id                         lines that died, in order of ending
--   ended_dead_by_reason  reason, id                 the same by their reason
--   sites_aside_by_id     id                         sites that were set aside, in the order of the queues
--
-- Dead lines are few beside those that admission refused, so these trees stay small, and adding does not touch them.

CREATE INDEX ended_dead ON ended (id) WHERE state = 'dead';

CREATE INDEX ended_dead_by_reason ON ended (reason, id) WHERE state = 'dead';

CREATE INDEX sites_aside_by_id ON sites (id) WHERE aside;
