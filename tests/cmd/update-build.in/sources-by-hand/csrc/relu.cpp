int relu;
