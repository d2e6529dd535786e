-- Writes a letter for records that were gone before anybody read them; they are counted as lost already.
-- KEYS: state, letter, open letters, letters by record. ARGV: group, id, now, dead id, diagnosis.
redis.call('HSET', KEYS[2], 'group', ARGV[1], 'id', ARGV[2], 'epoch', '0', 'attempt', '0', 'generation', '0',
  'failed_at_ms', whole(read_now(ARGV[3])), 'diagnosis', ARGV[5])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[4])
redis.call('HINCRBY', KEYS[4], ARGV[2], 1)
redis.call('HINCRBY', KEYS[1], 'dead', 1)
return 1
