"""The figures of Stoutchinin, Conti, Benini 2019, computed anew."""
