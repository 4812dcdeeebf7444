class ClusterStripDisplay: pass
